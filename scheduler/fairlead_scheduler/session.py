"""The sessions of a leader: what none of its statements may do to the next leader.

A statement that outlives the lease would hold the leader's row against the take-over, and so
would a transaction that a frozen process leaves open.
"""

from fairlead.store import Connection, connect_service
from fairlead_scheduler.settings import SchedulerSettings

_STATEMENT_SHARE_OF_LEASE = 0.8


def connect_leader(settings: SchedulerSettings, *, name: str) -> Connection:
    """Open a session whose statements end before the lease does.

    Behind PgBouncer sessions are not ours to set up: there the role must carry these settings.

    Raises:
        Unreachable: with one sentence that says why.
    """
    connection = connect_service(settings, name=name)
    if settings.database_direct:
        milliseconds = int(settings.lease_seconds * _STATEMENT_SHARE_OF_LEASE * 1000)
        connection.execute(f"set statement_timeout = {milliseconds}".encode())
        connection.execute(b"set idle_in_transaction_session_timeout = '2s'")
    return connection
