"""What `fairlead doctor --setup` makes of the facts."""

from dataclasses import replace
from datetime import timedelta

import pytest

from fairlead.inspection.doctor.facts import Clocks, Facts, Sessions, SetupFacts, Transport
from fairlead.inspection.doctor.setup import check_setup
from tests.support.examined import HEALTHY, NOW, SERVER, SETUP, VERIFIED, WORKER


def server(**fault: object) -> Facts:
    """Return facts with a fault of the server's."""
    changed = replace(SERVER, **fault)  # type: ignore[arg-type]  # each names fields of the class
    return replace(HEALTHY, server=changed)


SERVER_FAULTS = [
    (server(version=140_000, version_name="14.1"), "error", "15 or newer"),
    (server(read_only=True), "error", "read only: connect to the primary"),
    (server(encoding="SQL_ASCII"), "error", "SQL_ASCII"),
    (server(isolation="serializable"), "warning", "'serializable'"),
    (server(fsync=False), "error", "fsync is off"),
    (server(synchronous_commit="off"), "warning", "synchronous_commit is off"),
    (server(autovacuum=False), "error", "dead rows pile up"),
    (server(track_counts=False), "error", "dead rows pile up"),
]
FLEET_FAULTS = [
    (
        replace(HEALTHY, sessions=(Sessions("psql", 95, 95),)),
        "warning",
        "raise max_connections",
    ),
    (replace(HEALTHY, workers=(WORKER,) * 40), "warning", "the fleet needs 136"),
    (
        replace(HEALTHY, clocks=Clocks(NOW, NOW + timedelta(seconds=30), NOW)),
        "warning",
        "30 s off",
    ),
    (replace(HEALTHY, history_days_ahead=3), "warning", "3 days ahead"),
    (replace(HEALTHY, history_days_ahead=0), "warning", "0 days ahead"),
    (replace(HEALTHY, history_days_ahead=-1), "warning", "0 days ahead"),
    (replace(HEALTHY, history_days_ahead=None), "warning", "0 days ahead"),
    (
        replace(HEALTHY, lead=replace(HEALTHY.lead, held=False) if HEALTHY.lead else None),
        "warning",
        "no scheduler leads",
    ),
    (replace(HEALTHY, lead=None), "warning", "no scheduler leads"),
    (replace(HEALTHY, workers=()), "warning", "no worker is alive"),
    (
        replace(HEALTHY, workers=(replace(WORKER, lapsed=timedelta(seconds=1)),)),
        "warning",
        "no worker is alive",
    ),
]
TRANSPORT_FAULTS = [
    (
        replace(HEALTHY, transport=replace(VERIFIED, encrypted=False, sslmode="prefer")),
        "warning",
        "to db is not encrypted, with sslmode=prefer, and passwords",
    ),
    (
        replace(HEALTHY, transport=replace(VERIFIED, sslmode="require")),
        "warning",
        "sslmode=require, and nothing checks that it is the database",
    ),
]
SETUP_FAULTS = [
    (replace(SETUP, history_owner="x"), "warning", "belongs to x and not to app"),
    (replace(SETUP, missing_roles=("fairlead_admin",)), "warning", "missing: fairlead_admin"),
    (replace(SETUP, timezones=("Mars/Olympus",)), "error", "Mars/Olympus"),
    (
        replace(SETUP, over_backlog=("queue 'mail' (10)",)),
        "warning",
        "at their backlog limit, so their new jobs are refused: queue 'mail' (10); add workers",
    ),
    (
        replace(SETUP, broken_schedules=("nightly: no such day",)),
        "error",
        "nightly: no such day",
    ),
]


def test_a_healthy_setup_has_no_errors_and_no_warnings() -> None:
    """Everything that was checked is said to be fine."""
    checks = check_setup(HEALTHY, SETUP)

    assert {"ok"} == {check.severity for check in checks}
    assert len(checks) > 12


@pytest.mark.parametrize(
    ("facts", "severity", "says"), [*SERVER_FAULTS, *FLEET_FAULTS, *TRANSPORT_FAULTS]
)
def test_each_fault_of_server_and_fleet_is_named_once_with_what_to_do(
    facts: Facts, severity: str, says: str
) -> None:
    """With its value."""
    wrong = [check for check in check_setup(facts, SETUP) if check.severity != "ok"]

    assert [severity] == [check.severity for check in wrong]
    assert says in wrong[0].sentence


@pytest.mark.parametrize(("setup", "severity", "says"), SETUP_FAULTS)
def test_each_fault_of_the_setup_is_named_once_with_what_to_do(
    setup: SetupFacts, severity: str, says: str
) -> None:
    """With its value."""
    wrong = [check for check in check_setup(HEALTHY, setup) if check.severity != "ok"]

    assert [severity] == [check.severity for check in wrong]
    assert says in wrong[0].sentence


@pytest.mark.parametrize(
    "transport",
    [
        replace(VERIFIED, sslmode="verify-ca"),
        replace(VERIFIED, local=True, encrypted=False, sslmode="prefer"),
    ],
)
def test_a_verified_or_local_connection_is_fine(transport: Transport) -> None:
    """An authority of one's own signs no stranger's certificate, and loopback has no way."""
    checks = check_setup(replace(HEALTHY, transport=transport), SETUP)

    assert {"ok"} == {check.severity for check in checks}
