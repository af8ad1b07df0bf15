"""What each role may write and lock, tried on everything that the catalog has."""

from typing import Final

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.allowed import allowed
from tests.support.attacks import ROLES, attacker
from tests.support.logins import LogIn

_SCHEDULE = (
    "UPDATE schedules (cron, enabled, expires_in, headers, kind, max_attempts, missed, payload,"
    " priority, queue, timeout, timezone)"
)
_BY_SCHEDULERS = (
    *("evictions", "fairness_reports", "over_backlog", "policy_shadow", "pool_demand"),
    *("rate_usage", "receipts", "schedule_fires"),
)
"""Whoever has the scheduler's login decides what runs, and can stop all of it."""
_SWITCHES = ("backlog_gate", "endings_notify", "inserts_notify")

MAY: Final[dict[str | None, set[str]]] = {
    None: set(),
    "fairlead_reader": set(),
    "fairlead_viewer": set(),
    "fairlead_worker": {"INSERT batches", "INSERT jobs", "nextval places"},
    "fairlead_operator": {"UPDATE schedules (enabled)"},
    "fairlead_enqueue": {
        *("INSERT batches", "INSERT jobs", "INSERT schedules", _SCHEDULE, "nextval places"),
    },
    "fairlead_autoscaler": {
        "INSERT pod_drains",
        "LOCK WEAKLY pod_drains",
        "UPDATE pod_drains (drain_until, epoch, pool)",
        "INSERT pool_decisions",
        "LOCK WEAKLY pool_decisions",
        "UPDATE pool_decisions (at, decision, epoch)",
        "UPDATE install_options (policy_place, policy_source)",
    },
    "fairlead_scheduler": {
        f"{may} {table}"
        for table in _BY_SCHEDULERS
        for may in ("DELETE", "INSERT", "LOCK", "UPDATE")
    }
    | {
        f"{may} {table}"
        for table in ("attempt_errors", "job_progress")
        for may in ("DELETE", "LOCK", "UPDATE")
    }
    | {
        f"{may} {table}"
        for table in ("claim_floors", "floor_scans", "jobs", "policy_events")
        for may in ("INSERT", "LOCK WEAKLY")
    }
    | {f"{may} work_queue" for may in ("DELETE", "INSERT", "LOCK")}
    | {
        f"{may} {table}"
        for table in ("explain_requests", "worker_leases")
        for may in ("DELETE", "LOCK")
    }
    | {
        "UPDATE claim_floors (vtag)",
        "UPDATE jobs (due_at, run_at, seq)",
        "UPDATE work_queue (deadline, vtag)",
        "UPDATE worker_leases (dead_at)",
        "UPDATE worker_kind_limits (known)",
        "UPDATE explain_requests (answer, answered_at)",
        "UPDATE schedules (considered_until, problem)",
    }
    | {f"nextval {sequence}" for sequence in ("places", *_SWITCHES)}
    | {f"setval {sequence}" for sequence in _SWITCHES},
    "fairlead_admin": {
        f"{may} {table}"
        for table in ("pool_logins", "tenant_logins")
        for may in ("DELETE", "INSERT", "LOCK", "UPDATE")
    }
    | {"INSERT batches", "INSERT jobs", "INSERT schedules", _SCHEDULE, "nextval places"},
}
"""In the words of `allowed`. Only an administrator and a scheduler may lock a table."""


@pytest.mark.parametrize("role", [*ROLES, None])
def test_a_role_writes_and_locks_what_is_listed_and_nothing_else(
    db: Connection[TupleRow], log_in: LogIn, role: str | None
) -> None:
    """A new table, or a wrong new grant, is found because it is there."""
    by = attacker(db, log_in(*([role] if role else [])))

    assert MAY[role] == set(allowed(db, by))
