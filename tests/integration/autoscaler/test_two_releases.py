"""A second release on a database: its autoscaler is refused until the database is its own."""

import threading
from dataclasses import replace

import pytest
from prometheus_client import generate_latest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import ownership, policy_storage
from fairlead_autoscaler.controller.controller import Controller
from fairlead_autoscaler.controller.database import OwnedByAnother
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_autoscaler.service import wait_for_schema
from fairlead_autoscaler.settings import AutoscalerSettings
from tests.conftest import Background
from tests.support.controlling import DEPLOYMENT, POLICY, POOL, FakeLeadership, Scene
from tests.support.kubernetes.fake import FakeKube
from tests.support.logged import Lines
from tests.support.waiting import until

FIRST, SECOND = "work/shop", "else/shop"


def release(scene: Scene, name: str, policy: str) -> Controller:
    """Return the controller of a release with its own cluster and its own values."""
    kube = FakeKube(clock=lambda: scene.now[0])
    kube.add_pool(POOL, name=DEPLOYMENT)
    kube.edit(values=policy)
    options = replace(
        scene.options, holder=name, release=name, syncs_policy=True, policy_location=name
    )
    leadership = FakeLeadership()
    return Controller(
        kube, scene.database, leadership, options, metrics=Metrics(), clock=lambda: scene.now[0]
    )


def longest(db: Connection[TupleRow]) -> str:
    """Return the largest pool that the newest policy allows."""
    newest = policy_storage.newest(db)
    assert newest is not None
    return newest.document.partition("max: ")[2].partition(",")[0]


def test_a_second_release_replaces_nothing(scene: Scene) -> None:
    """Its values were the policy from then on, without a word, and the first was deposed."""
    ownership.own(scene.db, FIRST)
    first = release(scene, FIRST, POLICY.replace("max: 20", "max: 7"))
    first.step()
    second = release(scene, SECOND, POLICY.replace("max: 20", "max: 9"))

    second.step()

    assert "7" == longest(scene.db)
    assert [(FIRST, FIRST)] == scene.db.execute(
        "SELECT l.holder, o.policy_place FROM fairlead.leaders l, fairlead.install_options o"
        " WHERE l.role = 'autoscaler'"
    ).fetchall()


def test_a_take_over_deposes_the_former_owner(scene: Scene) -> None:
    """What it stores after that is refused, and it cannot begin anew."""
    ownership.own(scene.db, FIRST)
    first = release(scene, FIRST, POLICY.replace("max: 20", "max: 7"))
    first.step()

    assert FIRST == ownership.take_over(scene.db, SECOND)
    release(scene, SECOND, POLICY.replace("max: 20", "max: 9")).step()
    first.step()
    first.step()

    assert "9" == longest(scene.db)
    with pytest.raises(OwnedByAnother) as refused:
        scene.database.begin_epoch("me", release=FIRST)
    assert f"belongs to the release {SECOND}, and this is {FIRST}:" in str(refused.value)
    assert "--take-over" in str(refused.value)


def test_one_without_a_name_is_refused_where_there_is_an_owner(scene: Scene) -> None:
    """It is told the name, in case that it is the same release."""
    ownership.own(scene.db, FIRST)

    with pytest.raises(OwnedByAnother, match=f"FAIRLEAD_RELEASE={FIRST}"):
        scene.database.begin_epoch("me")


def test_the_program_waits_for_a_database_of_its_own(
    db: Connection[TupleRow], database_url: str, background: Background, logged: Lines
) -> None:
    """It is not ready meanwhile, says why, and goes on when the database is given to it."""
    ownership.own(db, FIRST)
    stop = threading.Event()
    settings = AutoscalerSettings(database_url=database_url, release=SECOND)
    waits = background(lambda: wait_for_schema(settings, stop))
    until(
        lambda: logged.count("autoscaler.waiting"), what="the wait for the database", seconds=20
    )
    assert not waits.done()

    ownership.take_over(db, SECOND)

    assert waits.result(timeout=20)


def test_the_program_makes_no_database_its_releases(
    db: Connection[TupleRow], database_url: str, background: Background, logged: Lines
) -> None:
    """One without an owner is waited for until a scheduler, or who migrates, owns it."""
    stop = threading.Event()
    settings = AutoscalerSettings(database_url=database_url, release=FIRST)
    waits = background(lambda: wait_for_schema(settings, stop))
    until(lambda: logged.count("autoscaler.waiting"), what="the wait for an owner", seconds=20)
    assert "" == ownership.owner_of(db)

    ownership.own(db, FIRST)

    assert waits.result(timeout=20)


def test_a_holder_of_the_lease_without_an_epoch_says_so(scene: Scene) -> None:
    """It renews the Lease, its pods are ready, and no pool is scaled: after 30 s it is said."""
    ownership.own(scene.db, FIRST)
    metrics, kube = Metrics(), FakeKube(clock=lambda: scene.now[0])
    options = replace(scene.options, holder=SECOND, release=SECOND)
    second = Controller(
        kube,
        scene.database,
        FakeLeadership(),
        options,
        metrics=metrics,
        clock=lambda: scene.now[0],
    )
    shown = 'fairlead_autoscaler_cannot_lead{reason="DatabaseOfAnotherRelease"} 1.0'

    def text() -> str:
        return generate_latest(metrics.registry).decode()

    for _ in range(6):
        scene.now[0] += 5
        second.step()
    before = (shown in text(), list(kube.events))
    scene.now[0] += 5
    second.step()

    assert (False, []) == before
    assert shown in text()
    (event,) = kube.events
    assert ("Pod", "Warning", "CannotLead") == (event.kind, event.type, event.reason)
    assert "the database is another release's: " in event.note
    scene.now[0] += 400
    second.step()
    assert 2 == len(kube.events)
    ownership.take_over(scene.db, SECOND)
    second.step()
    assert "cannot_lead{" not in text()
