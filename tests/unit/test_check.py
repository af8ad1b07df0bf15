"""What `fairlead check` makes of the facts."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from fairlead.check import Facts, judge

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
HEALTHY = Facts(
    server_version=180_004,
    server_version_name="18.4",
    is_standby=False,
    encoding="UTF8",
    timezone="UTC",
    isolation="read committed",
    read_only=False,
    synchronous_commit="on",
    fsync=True,
    autovacuum=True,
    connections_max=97,
    connections=12,
    workers=4,
    is_led=True,
    history_days_ahead=14,
    history_owner="fairlead_scheduler",
    missing_roles=(),
    broken_schedules=(),
    over_backlog=(),
    timezones=("Europe/Berlin", "UTC"),
    now=NOW,
)

FAULTS = [
    ({"server_version": 140_000, "server_version_name": "14.1"}, "error", "15 or newer"),
    ({"is_standby": True}, "error", "connect to the primary"),
    ({"read_only": True}, "error", "read only"),
    ({"encoding": "SQL_ASCII"}, "error", "SQL_ASCII"),
    ({"isolation": "serializable"}, "error", "'serializable'"),
    ({"fsync": False}, "error", "fsync is off"),
    ({"synchronous_commit": "off"}, "warning", "synchronous_commit is off"),
    ({"autovacuum": False}, "error", "dead rows pile up"),
    ({"connections": 95}, "warning", "raise max_connections"),
    ({"workers": 40}, "warning", "the fleet wants 130"),
    ({"now": NOW + timedelta(seconds=30)}, "warning", "30 s off"),
    ({"history_days_ahead": 3}, "warning", "3 days ahead"),
    ({"history_days_ahead": 0}, "error", "0 days ahead"),
    ({"history_days_ahead": None}, "error", "0 days ahead"),
    ({"history_owner": "app"}, "warning", "grant fairlead_scheduler to app"),
    ({"missing_roles": ("fairlead_admin",)}, "warning", "missing: fairlead_admin"),
    ({"is_led": False}, "warning", "no scheduler leads"),
    ({"is_led": None}, "warning", "no scheduler leads"),
    ({"workers": 0}, "warning", "no worker lives"),
    ({"timezones": ("Mars/Olympus",)}, "error", "Mars/Olympus"),
    (
        {"over_backlog": ("queue 'mail' (10)",)},
        "warning",
        "at their backlog limit, so their new jobs are refused: queue 'mail' (10); add workers",
    ),
    ({"broken_schedules": ("nightly: no such day",)}, "error", "nightly: no such day"),
]


def test_a_healthy_installation_has_no_errors_and_no_warnings() -> None:
    """Everything that was looked at is said to be fine."""
    findings = judge(HEALTHY, here=NOW)

    assert {"ok"} == {found.severity for found in findings}
    assert len(findings) > 12


@pytest.mark.parametrize(("fault", "severity", "says"), FAULTS)
def test_each_fault_is_one_finding_that_says_what_to_do(
    fault: dict[str, object], severity: str, says: str
) -> None:
    """A fault is named once, with its value."""
    facts = replace(HEALTHY, **fault)  # type: ignore[arg-type]  # each names fields of Facts

    wrong = [found for found in judge(facts, here=NOW) if found.severity != "ok"]

    assert [severity] == [found.severity for found in wrong]
    assert says in wrong[0].sentence


def test_roles_that_are_missing_leave_the_history_to_its_owner() -> None:
    """One fault is told once."""
    facts = replace(HEALTHY, history_owner="app", missing_roles=("fairlead_scheduler",))

    wrong = [found.subject for found in judge(facts, here=NOW) if found.severity != "ok"]

    assert ["roles"] == wrong
