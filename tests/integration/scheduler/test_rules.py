"""Rules of a stored policy against a real database: held, recalled, released, disabled."""

from time import thread_time

import pytest

from fairlead import policy_storage
from fairlead.policy.cel.compiler import Scope
from fairlead_scheduler.policy.rules import Condition
from tests.support.children import register
from tests.support.race import Database
from tests.support.schedulers import led, scheduler_process, scheduling
from tests.support.waiting import until

HELD = """
rules:
  - {name: no-workers, match: {tenant: loud}, when: workers.slots < 50, hold: true}
"""


def insert(db: Database, tenant: str, count: int) -> None:
    """Insert jobs of a tenant."""
    db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind)"
        " SELECT %s, 'noop' FROM generate_series(1, %s)",
        [tenant, count],
    )


def in_flight(db: Database, tenant: str) -> int:
    """Count a tenant's rows of work_queue."""
    row = db.execute(
        "SELECT count(*) FROM fairlead.work_queue WHERE tenant = %s", [tenant]
    ).fetchone()
    assert row is not None
    return int(row[0])


def places_of_jobs(db: Database) -> object:
    """Return something that changes when a row of jobs is written."""
    rows = db.execute("SELECT id, ctid::text, xmin::text FROM fairlead.jobs ORDER BY id")
    return rows.fetchall()


def disabled(db: Database) -> list[tuple[object, ...]]:
    """Return the rules that were disabled, with the version and what was said."""
    return db.execute(
        "SELECT version, rule, said FROM fairlead.policy_events"
        " WHERE event = 'rule_disabled' ORDER BY id"
    ).fetchall()


def explained(db: Database, tenant: str) -> dict[str, object]:
    """Return what is said of the last job of a tenant."""
    row = db.execute(
        "SELECT fairlead.explain(max(id)) FROM fairlead.jobs WHERE tenant = %s", [tenant]
    ).fetchone()
    assert row is not None
    found: dict[str, object] = row[0]
    return found


def test_a_rule_that_holds_recalls_and_releases_within_two_seconds(
    database_url: str, db: Database
) -> None:
    """Unclaimed rows are recalled where a rule now holds them; no job row is written."""
    register(db, slots=20)
    insert(db, "loud", 3000)
    insert(db, "quiet", 5)
    with scheduling(database_url) as replica:
        led(db)
        until(lambda: in_flight(db, "loud") > 10, what="a full queue")
        before = places_of_jobs(db)

        policy_storage.store(db, HELD)

        until(lambda: in_flight(db, "loud") == 0, what="the recall", seconds=2)
        until(lambda: in_flight(db, "quiet") == 5, what="the others")
        shown = replica.metrics.registry.get_sample_value
        until(
            lambda: shown("fairlead_lanes_blocked", {"reason": "hold"}) == 1.0,
            what="the blocked lane being shown",
        )
        until(lambda: explained(db, "loud").get("blocked_by") == "hold", what="an explanation")
        said = explained(db, "loud")
        assert ("no-workers", "tenant") == (said["rule"], said["by"])
        assert "no-workers" in str(said["sentence"])

        register(db, slots=100)

        until(lambda: in_flight(db, "loud") > 10, what="the release", seconds=3)
        assert before == places_of_jobs(db)


def test_the_next_leader_holds_what_the_former_one_held(
    database_url: str, db: Database
) -> None:
    """Fail-over keeps effects: before its first plan it looks at the rules."""
    policy_storage.store(db, HELD)
    register(db, slots=20)
    insert(db, "loud", 100)
    insert(db, "quiet", 1)
    with scheduler_process(database_url) as first:
        epoch = led(db)
        until(lambda: in_flight(db, "quiet") == 1, what="the others")
        assert 0 == in_flight(db, "loud")
        first.kill()
        insert(db, "quiet", 1)
        most = 0

        def dispatched() -> bool:
            nonlocal most
            most = max(most, in_flight(db, "loud"))
            return in_flight(db, "quiet") == 2

        with scheduler_process(database_url):
            led(db, after=epoch)
            until(dispatched, what="dispatches of the heir", seconds=30)
    assert 0 == most


def burning(self: Condition, _values: Scope) -> bool:
    """Answer after forty milliseconds of work."""
    until_seconds = thread_time() + 0.04
    while self.name == "bad" and thread_time() < until_seconds:
        pass
    return True


def raising(self: Condition, _values: Scope) -> bool:
    """Answer nothing."""
    if self.name == "bad":
        raise RuntimeError("boom")
    return True


@pytest.mark.parametrize("holds", [burning, raising])
def test_a_bad_rule_is_disabled_while_dispatch_goes_on(
    holds: object, database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Disabled after three overruns or errors, counted, and an event for as long as it is."""
    monkeypatch.setattr(Condition, "holds", holds)
    register(db, slots=20)
    stored = policy_storage.store(
        db,
        "rules:\n"
        "- {name: bad, match: {tenant: loud}, when: lane.in_flight < 0, hold: true}\n"
        "- {name: good, match: {tenant: other}, when: hour < 0, hold: true}\n",
    )
    with scheduling(database_url) as replica:
        led(db)
        insert(db, "other", 1)
        insert(db, "loud", 1)
        insert(db, "quiet", 1)

        until(lambda: in_flight(db, "quiet") == 1, what="a dispatch", seconds=2)
        until(lambda: len(disabled(db)) == 1, what="the rule being disabled")
        ((version, rule, said),) = disabled(db)
        assert (stored.version, "bad") == (version, rule)
        assert "3 times" in str(said)
        until(lambda: in_flight(db, "loud") == 1, what="what the rule held")
        counted = replica.metrics.registry.get_sample_value
        series = "overruns" if holds is burning else "errors"
        assert 3.0 == counted(f"fairlead_policy_rule_{series}_total", {"rule": "bad"})
    with scheduling(database_url) as heir:
        insert(db, "loud", 1)
        until(lambda: in_flight(db, "loud") == 2, what="a dispatch of the heir")
        assert 0 == in_flight(db, "other")
        counted = heir.metrics.registry.get_sample_value
        assert None is counted(f"fairlead_policy_rule_{series}_total", {"rule": "bad"})
    assert 1 == len(disabled(db))
