"""`fairlead tenants` says what tenants had of the slots, and how old that is."""

import json
from io import StringIO

from psycopg import Connection
from psycopg.rows import TupleRow
from rich.console import Console

from fairlead_cli.commands import top
from tests.integration.conftest import Fairlead


def lead(db: Connection[TupleRow], *, epoch: int, seconds: int = 3600) -> None:
    """Let a scheduler lead for so long."""
    db.execute(
        "UPDATE fairlead.leaders SET epoch = %s,"
        " lease_until = clock_timestamp() + %s * interval '1 s' WHERE role = 'scheduler'",
        [epoch, seconds],
    )


def tenant(name: str, *, share: float, entitled_share: float) -> dict[str, object]:
    """Return what a report of 100 slot-seconds says of a tenant."""
    return {
        "queue": "q",
        "tenant": name,
        "weight": 1.0,
        "share": share,
        "entitled_share": entitled_share,
        "slot_seconds": 100 * share,
        "lag_slot_seconds": 100 * (share - entitled_share),
        "running": 1,
        "queued": 0,
        "oldest_wait_seconds": 2.5,
        "mean_run_seconds": 0.125,
        "blocked_by": "limit",
        "blocked_since": "2026-11-21T09:30:00+00:00",
    }


def report(db: Connection[TupleRow], *, epoch: int, seconds_ago: int) -> None:
    """Publish a report of two tenants."""
    found = {
        "slots": 10,
        "slot_seconds": 100.0,
        "jain": 0.8,
        "jain_tenants": 2,
        "other": {"tenants": 3},
        "tenants": [
            tenant("a", share=0.25, entitled_share=0.5),
            tenant("b", share=0.75, entitled_share=0.5),
        ],
    }
    db.execute(
        "INSERT INTO fairlead.fairness_reports (pool, epoch, at, since, report)"
        " SELECT 'default', %s, t.at, t.at - interval '60 s', %s"
        " FROM (SELECT clock_timestamp() - %s * interval '1 s' AS at) t",
        [epoch, json.dumps(found), seconds_ago],
    )


def test_without_a_report_it_says_so(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """And that no scheduler leads, when none does."""
    assert "no shares yet" in fairlead("tenants")
    assert "no scheduler leads" in fairlead("tenants")
    lead(db, epoch=3)
    assert "no scheduler leads" not in fairlead("tenants")


def test_shares_come_with_their_age_and_jains_index(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Share, entitled share, lag, waits and what holds a tenant back, most served first."""
    lead(db, epoch=3)
    report(db, epoch=3, seconds_ago=4)
    db.execute("INSERT INTO fairlead.jobs (queue, tenant, kind) VALUES ('q', 'a', 'k')")

    said = fairlead("tenants")
    rows = json.loads(fairlead("tenants", "--json"))

    assert "shares of pool 'default' over 1 m, as of 4 s ago" in said
    assert "Jain's index 0.800 over 2" in said
    assert "3 smaller tenants not named" in said
    table = said.split("shares of pool")[1].splitlines()[1:]
    assert [
        "queue tenant weight share entitled lag waits runs",
        "q b 1 75.0% 50.0% +25.0 2.5 s 0.125 s limit",
        "q a 1 25.0% 50.0% -25.0 2.5 s 0.125 s limit",
    ] == [" ".join(table[place].split()) for place in (0, 2, 3)]
    assert [("a", 1, 0.25, -25.0), ("b", 0, 0.75, 25.0)] == [
        (row["tenant"], row["pending"], row["share"], row["lag_slot_seconds"]) for row in rows
    ]


def test_a_report_that_is_not_of_now_says_why(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """No scheduler leads, another one leads by now, or nothing has happened since."""
    report(db, epoch=3, seconds_ago=90)

    lead(db, epoch=3, seconds=-1)
    said = fairlead("tenants")
    assert "as of 1 m 30 s ago; Jain's index 0.800 over 2 that waited all the time" in said
    assert "; no scheduler leads" in said
    lead(db, epoch=4)
    assert "; by the leader before this one" in fairlead("tenants")
    lead(db, epoch=3)
    assert "; nothing has run since" in fairlead("tenants")


def test_top_shows_who_had_most(db: Connection[TupleRow]) -> None:
    """The live view has the shares between queues and workers, and says how old they are."""
    lead(db, epoch=3)
    report(db, epoch=3, seconds_ago=4)
    drawn = StringIO()
    snapshot = top.look(db)

    Console(file=drawn, width=100).print(top.picture(snapshot, snapshot, width=100))

    shares = drawn.getvalue().split("as of 4 s ago")[1].splitlines()
    assert ["b", "a"] == [line.split()[1] for line in shares if line.startswith("q ")]
