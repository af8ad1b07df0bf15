"""A release as a platform team runs it: by Argo CD, behind a proxy, with passwords that expire.

The tests go on with one release, in the order in which they stand here; the last ones put a
second one beside it.
"""

import json
import re
from collections.abc import Iterator
from time import monotonic
from typing import cast

import psycopg
import pytest
import yaml
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support import cluster, jobs, tokens
from tests.support.admission import SAID, leases_refused
from tests.support.chart import CHART, Json, Object, at
from tests.support.cluster import AUTOSCALER, NAMED, POOL, RELEASE, CommandFailed, Release
from tests.support.object_changes import Record, is_ready
from tests.support.outside import reachable, urls, write_secret
from tests.support.tokens import Tokens
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)
if not cluster.NODE_ADDRESS:
    pytest.skip("NODE_ADDRESS is empty: pods reach no PostgreSQL here", allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

FEWEST = 2
"""Pods of the pool; without anybody who scales it has one."""

SCALED_SECONDS = 60.0
"""Within which a release without its Lease is scaled, from the end of its migrations."""

SHORT = (6, 5.0)
LONG = (10, 60.0)
"""How many passwords there are under load, and how long each is good for, in seconds."""

EXCLUDED = ("Lease",)
"""The kinds that Argo CD leaves out by default, of those that the chart renders."""

OTHER = "other"
"""The second release in the namespace."""

IN_PLACE = "127.0.0.1"
PODS = ("scheduler", "autoscaler", "worker", "migrate")
ENDINGS = """
    SELECT outcome, attempt, losses + crashes, count(*) FROM fairlead.job_history
    WHERE tenant = 'load' GROUP BY 1, 2, 3
"""
LEFT = "SELECT count(*) FROM fairlead.jobs WHERE tenant = 'load'"
LOAD = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, payload)
    SELECT 'default', 'load', 'wait', '{"seconds": 0.2}' FROM generate_series(1, %s)
"""
OLDEST_WAIT = """
    SELECT coalesce(max(extract(epoch FROM claimed_at - created_at)), 0)::float
    FROM fairlead.job_history WHERE tenant = 'load'
"""
LEADS = "SELECT DISTINCT release FROM fairlead.leaders"
WORKS = """
    SELECT DISTINCT split_part(pod_name, '-worker-', 1) FROM fairlead.workers
    WHERE state = 'live'
"""


@pytest.fixture(scope="module")
def outside() -> Iterator[Server]:
    """Yield the server that the releases work with."""
    with reachable() as running:
        yield running


@pytest.fixture(scope="module")
def handed_out() -> Iterator[Tokens]:
    """Yield the passwords that pods ask for."""
    with tokens.served() as found:
        yield found


@pytest.fixture
def db(outside: Server) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to the first release's database, as its superuser."""
    with psycopg.connect(outside.url, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def values(outside: Server, handed_out: Tokens) -> Object:
    """Return the release's values: a proxy in every pod, and a command for the password."""
    scaled: Object = {
        "objective": "20s",
        "min": FEWEST,
        "max": 5,
        "stabilization": "5s",
        "keep": "5s",
    }
    return {
        **cluster.values({"default": {"concurrency": 4, "autoscale": scaled}}),
        "database": {
            "existingSecret": "database",
            "passwordCommand": handed_out.command,
            "passwordSeconds": 60,
        },
        "everyPod": {"extraInitContainers": [tokens.proxy(outside.port)]},
    }


def applied(release: Release, values: Object, excluded: tuple[str, ...] = EXCLUDED) -> None:
    """Apply what helm renders as Argo CD does: without Leases, and without tests."""
    rendered = release.helm("template", RELEASE, str(CHART), values=values)
    objects = [
        each
        for each in yaml.safe_load_all(rendered)
        if each and each["kind"] not in excluded and not is_test(each)
    ]
    listed: Object = {"apiVersion": "v1", "kind": "List", "items": cast("Json", objects)}
    release.kubectl("apply", "--filename=-", given=json.dumps(listed))


def is_test(made: Object) -> bool:
    """Return whether an object is one of `helm test`."""
    annotations = cast("dict[str, str]", at(made, "metadata", "annotations") or {})
    return annotations.get("helm.sh/hook") == "test"


def migrated(release: Release, instance: str = RELEASE) -> bool:
    """Return whether the Job of a release's migrations has succeeded."""
    found = release.got("jobs", f"--selector=app.kubernetes.io/instance={instance}")
    ended = [at(each, "status", "succeeded") for each in cast("list[Object]", found["items"])]
    return bool(ended) and all(ended)


def logs(release: Release, component: str, instance: str) -> str:
    """Return what a release's component has logged; nothing while none has started."""
    labels = f"app.kubernetes.io/component={component},app.kubernetes.io/instance={instance}"
    container = {"migrate": "migrate", "worker": "worker"}.get(component, component)
    words = ("logs", f"--selector={labels}", f"--container={container}", "--tail=-1")
    try:
        return release.kubectl(*words)
    except CommandFailed:
        return ""


def test_a_release_without_its_lease_is_scaled_within_a_minute(
    release: Release, values: Object, figures: dict[str, float]
) -> None:
    """The API server refuses the one that is rendered; the autoscaler makes its own and leads.

    Where Argo CD does not ask for one there is none either.
    """
    place = f"{IN_PLACE}:{tokens.PROXY_PORT}"
    write_secret(release, urls(place, ""))
    with leases_refused(release):
        begun = monotonic()
        with pytest.raises(CommandFailed, match=SAID) as refused:
            applied(release, values, excluded=())
        leases = release.kubectl("get", "leases", "--output=name")
        assert AUTOSCALER not in leases
        assert 1 == str(refused.value).count("denied request"), refused.value

        until(lambda: migrated(release), what="the end of the migrations' Job", seconds=240)
        figures["applied without its Lease: to the end of migrations"] = monotonic() - begun
        ended = monotonic()
        until(lambda: release.replicas() == FEWEST, what="a pool that is scaled", seconds=240)
        figures["applied without its Lease: from there to a scaled pool"] = monotonic() - ended
    assert figures["applied without its Lease: from there to a scaled pool"] <= SCALED_SECONDS
    release.await_rollout(f"{NAMED}-scheduler", AUTOSCALER, POOL)
    assert release.holder()


def test_every_pod_and_job_goes_by_way_of_its_proxy(
    release: Release, db: Connection[TupleRow]
) -> None:
    """The sidecar lets the migrations' Job end, and jobs run behind it."""
    for component in PODS:
        pods = release.pods(component)
        assert pods
        for pod in pods:
            sidecar = at(pod, "spec", "initContainers", 0)
            assert ("proxy", "Always") == (at(sidecar, "name"), at(sidecar, "restartPolicy"))
    assert {"Succeeded"} == {str(at(pod, "status", "phase")) for pod in release.pods("migrate")}

    ended = jobs.inserted(db, 8, seconds=4).await_end()

    assert (1, 0) == (ended.attempts, ended.losses)


def test_applying_it_again_leaves_the_number_of_pods(
    release: Release, values: Object, db: Connection[TupleRow], record: Record
) -> None:
    """What Argo CD does at each synchronisation changes no `replicas`."""
    load = jobs.inserted(db, 60, seconds=4)
    until(lambda: release.replicas() > FEWEST, what="more pods", seconds=90)
    before = len(record.scales())

    applied(release, values)

    ended = load.await_end(seconds=240)
    assert (1, 0) == (ended.attempts, ended.losses)
    assert [] == record.terminated_while_ready()
    assert all(count >= FEWEST for _, count in record.scales()[before:])


def test_a_password_that_changes_under_load_costs_no_job(
    release: Release,
    db: Connection[TupleRow],
    handed_out: Tokens,
    figures: dict[str, float],
) -> None:
    """Six passwords of five seconds each, and sessions that have to use them."""
    under_changes(release, db, handed_out, *SHORT)
    (wait,) = db.execute(OLDEST_WAIT).fetchone() or (0.0,)
    figures["a new password every 5 s: the longest wait"] = float(wait)


@pytest.mark.long
@pytest.mark.timeout(cluster.TIMEOUT_SECONDS + LONG[0] * LONG[1])
def test_a_password_that_changes_each_minute_costs_no_job(
    release: Release,
    db: Connection[TupleRow],
    handed_out: Tokens,
    figures: dict[str, float],
) -> None:
    """Ten minutes of load, each of them with another password."""
    under_changes(release, db, handed_out, *LONG)
    (wait,) = db.execute(OLDEST_WAIT).fetchone() or (0.0,)
    figures["a new password every minute: the longest wait"] = float(wait)


def under_changes(
    release: Release,
    db: Connection[TupleRow],
    handed_out: Tokens,
    times: int,
    seconds: float,
) -> None:
    """Change the password so many times while jobs come, and end all sessions now and then."""
    asked = handed_out.asked
    inserted = ended = 0
    before = ended_jobs(db)
    for number in range(times):
        handed_out.change(db)
        if number % 3 == 2:
            ended += tokens.end_sessions(db)
        for _ in range(max(1, round(seconds))):
            db.execute(LOAD, [20])
            inserted += 20
            db.execute("SELECT pg_sleep(1)")

    until(lambda: db.execute(LEFT).fetchone() == (0,), what="the end of all jobs", seconds=120)
    endings = db.execute(ENDINGS).fetchall()
    assert {("succeeded", 1, 0)} == {each[:3] for each in endings}, endings
    assert inserted == ended_jobs(db) - before
    assert handed_out.asked > asked
    assert ended > 0
    assert all(is_ready(each) for each in release.pods("scheduler"))


def ended_jobs(db: Connection[TupleRow]) -> int:
    """Return how many jobs of the load have ended."""
    return sum(int(each[3]) for each in db.execute(ENDINGS))


def test_a_second_release_on_the_database_is_refused_by_a_sentence_that_names_both(
    release: Release, db: Connection[TupleRow], values: Object, figures: dict[str, float]
) -> None:
    """Its migrations fail and its pods wait; the first one goes on as its leaders do."""
    begun = monotonic()
    release.helm("install", OTHER, str(CHART), values=values)

    owner, comer = (f"{release.namespace}/{name}" for name in (RELEASE, OTHER))
    said = re.compile(
        f"the (database|pool default) belongs to the release {owner}, "
        f"and this (worker is of|is) {comer}: "
    )
    until(
        lambda: all(said.search(logs(release, each, OTHER)) for each in PODS),
        what="the sentence in every program's log",
        seconds=120,
    )
    figures["a second release on the database: to its last sentence"] = monotonic() - begun
    assert 20 == jobs.inserted(db, 20, seconds=0.1).await_end().succeeded
    assert [(owner,)] == db.execute(LEADS).fetchall()
    assert [(NAMED,)] == db.execute(WORKS).fetchall()
    assert not migrated(release, OTHER)


def test_two_releases_in_a_namespace_scale_apart(
    release: Release,
    outside: Server,
    db: Connection[TupleRow],
    values: Object,
    figures: dict[str, float],
) -> None:
    """With a database of its own the second one leads, scales and runs its own jobs only."""
    db.execute("CREATE DATABASE second OWNER app_owner")
    write_secret(
        release,
        urls(f"{IN_PLACE}:{tokens.PROXY_PORT}", "", database="second"),
        name="second",
    )
    database = {**cast("Object", values["database"]), "existingSecret": "second"}
    begun = monotonic()
    release.helm("upgrade", OTHER, str(CHART), values={**values, "database": database})
    second = f"{OTHER}-fairlead"
    release.await_rollout(f"{second}-scheduler", f"{second}-autoscaler")
    until(
        lambda: release.replicas(f"{second}-worker-default") == FEWEST,
        what="a second release that is scaled",
        seconds=120,
    )
    figures["a second release with its own database: to a scaled pool"] = monotonic() - begun
    asked = release.replicas()

    with psycopg.connect(outside.url_of("second"), autocommit=True) as other_db:
        jobs.inserted(other_db, 4, seconds=4).await_end()
        load = jobs.inserted(other_db, 60, seconds=4)
        until(
            lambda: release.replicas(f"{second}-worker-default") > FEWEST,
            what="more pods of the second release",
            seconds=90,
        )
        ended = load.await_end(seconds=240)
        assert (1, 0) == (ended.attempts, ended.losses)
        assert [(second,)] == other_db.execute(WORKS).fetchall()
    assert asked == release.replicas()
    assert [(NAMED,)] == db.execute(WORKS).fetchall()
    assert release.holder() != str(
        at(release.got("lease", f"{second}-autoscaler"), "spec", "holderIdentity")
    )

    release.helm("uninstall", OTHER, "--wait", "--timeout=150s")
    assert 20 == jobs.inserted(db, 20, seconds=0.1).await_end().succeeded
