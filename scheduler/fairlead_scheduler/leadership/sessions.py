"""The leader's sessions, limited so that none of their statements can block the next leader.

A statement that outlives the lease would lock the leader's row against the take-over, and so
would a transaction that a frozen process leaves open.
"""

from fairlead.db.connect import Connection, connect_service
from fairlead.db.session_settings import Settings
from fairlead_scheduler.settings import SchedulerSettings

_STATEMENT_SHARE_OF_LEASE = 0.8
_READ_SECONDS_MAX = 60


def connect_leader(settings: SchedulerSettings, *, name: str) -> Connection:
    """Open a session whose statements end before the lease does.

    Raises:
        Unreachable: with one sentence that says why.
    """
    return _connect(settings, name, statement_seconds=_statement_seconds(settings))


def connect_loop(settings: SchedulerSettings, *, name: str) -> Connection:
    """Open a session like `connect_leader`'s whose commits do not wait for the disk.

    If a crash of the server undoes a dispatch, its jobs are pending again and no claim of them
    is lost: a claim's commit waits for all that was written before it.

    Raises:
        Unreachable: with one sentence that says why.
    """
    seconds = _statement_seconds(settings)
    return _connect(
        settings, name, statement_seconds=seconds, more={"synchronous_commit": "off"}
    )


def connect_reader(settings: SchedulerSettings, *, name: str) -> Connection:
    """Open a session for long reads, which lock nothing that the next leader needs.

    Raises:
        Unreachable: with one sentence that says why.
    """
    return _connect(settings, name, statement_seconds=_READ_SECONDS_MAX)


def connect_retention(settings: SchedulerSettings, *, name: str) -> Connection:
    """Open a session that gives up soon on locks: statements queued behind it wait as long.

    Raises:
        Unreachable: with one sentence that says why.
    """
    seconds = _statement_seconds(settings)
    return _connect(settings, name, statement_seconds=seconds, more={"lock_timeout": "'200ms'"})


def connect_counter(settings: SchedulerSettings, *, name: str) -> Connection:
    """Open a session for long counts and short writes, which give up soon on locks.

    A write locks the leader's row, so it must not wait; a count locks nothing.

    Raises:
        Unreachable: with one sentence that says why.
    """
    return _connect(
        settings,
        name,
        statement_seconds=_READ_SECONDS_MAX,
        more={"lock_timeout": "'1s'"},
    )


def _connect(
    settings: SchedulerSettings,
    name: str,
    *,
    statement_seconds: float,
    more: Settings | None = None,
) -> Connection:
    limits = {
        "statement_timeout": str(int(statement_seconds * 1000)),
        "idle_in_transaction_session_timeout": "'2s'",
    }
    return connect_service(settings, name=f"scheduler {name}", more={**limits, **(more or {})})


def _statement_seconds(settings: SchedulerSettings) -> float:
    return settings.lease_seconds * _STATEMENT_SHARE_OF_LEASE
