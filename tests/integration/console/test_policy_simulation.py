"""The simulation of the policy's editor: one at a time, bounded, and what comes of it."""

from collections.abc import Generator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from time import monotonic

import httpx2
import pytest
from starlette.testclient import TestClient

from fairlead_console.reads import simulator
from tests.conftest import Background, Connect
from tests.support.consoles import console
from tests.support.forms import Page
from tests.support.operators import SAME
from tests.support.policy_editor import EDIT, NEW, begun, fill, offers, sent, simulated
from tests.support.race import Database
from tests.support.waiting import until

_STOP_SECONDS = 20
"""Below the half minute that a pod has, and below what a simulation may take."""
_WAITS = """
    SELECT FROM pg_stat_activity
    WHERE application_name = 'fairlead cli' AND wait_event_type = 'Lock'
"""


@pytest.fixture
def operator_roles() -> tuple[str, ...]:
    """Return what a login has to be to store policies, too."""
    return ("fairlead_operator", "fairlead_admin")


@pytest.fixture
def stored(db: Database) -> Database:
    """Have a policy in force, a backlog and a worker."""
    fill(db)
    return db


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"pool": "gpu"}, "pool 'gpu' has no live worker, so nothing would run"),
        ({"pool": "gpu", "slots": "3"}, "nothing waits, runs or came of late"),
    ],
)
def test_what_cannot_be_predicted_is_said_and_may_be_applied(
    client: TestClient, stored: Database, typed: dict[str, str], said: str
) -> None:
    """A fleet at rest can be given a policy, too."""
    stored.execute("DELETE FROM fairlead.jobs")
    answer = simulated(client, NEW, **typed)

    assert said in unescape(answer.text)
    assert 303 == sent(client, answer, "apply").status_code


@contextmanager
def held(connect: Connect) -> Generator[None]:
    """Hold what a simulation waits for, and no page does."""
    with connect().transaction() as transaction:
        transaction.connection.execute("LOCK fairlead.rate_usage")
        yield


def comes_to_wait(db: Database) -> None:
    """Wait until a simulation waits for it."""
    until(lambda: bool(db.execute(_WAITS).fetchall()), what="its wait", seconds=60)


def test_a_second_simulation_meanwhile_is_refused(
    client: TestClient, stored: Database, connect: Connect, background: Background
) -> None:
    """One at a time, so that a console takes a bounded part of its machine."""
    checked = sent(client, begun(client), "check", document=NEW)
    with held(connect):
        first = background(lambda: sent(client, checked, "simulate"))
        comes_to_wait(stored)
        second = sent(client, checked, "simulate")

    assert 409 == second.status_code
    assert "Another simulation is under way in this console" in second.text
    assert "apply" not in offers(second)
    assert "apply" in offers(first.result(60))


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SECONDS_MAX", 0.01, "it took longer than 0 s"),
        ("_COMMAND", ("policy", "simulate", "/nowhere"), "/nowhere: cannot be read"),
    ],
)
def test_a_simulation_that_does_not_end_well_offers_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, name: str, value: object, said: str
) -> None:
    """It says why."""
    checked = sent(client, begun(client), "check", document=NEW)
    monkeypatch.setattr(simulator, name, value)
    answer = sent(client, checked, "simulate")

    assert 409 == answer.status_code
    assert f"It could not be simulated: {said}" in answer.text
    assert "apply" not in offers(answer)


def test_a_console_that_is_asked_to_stop_waits_for_no_simulation(
    database_url: str,
    stored: Database,
    connect: Connect,
    background: Background,
    tmp_path: Path,
) -> None:
    """It ends it: Kubernetes would kill it after a while, with all that it answers."""
    began = 0.0
    with held(connect):
        at = {"FAIRLEAD_CONSOLE_OPERATOR_URL": database_url}
        with console(database_url, tmp_path, **at) as address:
            (form,) = Page(httpx2.get(address + EDIT, timeout=60).text).forms
            fields = {**form.fields, "document": NEW, "step": "simulate"}
            asked = background(
                lambda: httpx2.post(address + EDIT, data=fields, headers=SAME, timeout=90)
            )
            comes_to_wait(stored)
            began = monotonic()
        took = monotonic() - began

    assert took < _STOP_SECONDS
    assert asked.exception(60) is not None or asked.result().status_code == 409
