"""What PgBouncer says of itself: how many clients it accepts.

It answers on its console, a database that it serves itself, to the users that its settings
`stats_users` and `admin_users` name. Another pooler has no such database.
"""

import psycopg
from psycopg.conninfo import make_conninfo

from fairlead.db.connect import Address, conninfo

_CONSOLE = "pgbouncer"
_CONNECT_SECONDS = 2
_LIMITS = {"max_client_conn", "max_db_client_connections", "max_user_client_connections"}
"""Each bounds our clients; 0 or absent: it does not."""

Console = psycopg.Connection[tuple[object, ...]]


def console(address: Address) -> Console:
    """Open a session with the console of the pooler at an address.

    Raises:
        psycopg.Error: there is none, or it does not take this user.
        Unreachable: the file with the URL cannot be read.
    """
    return psycopg.connect(
        make_conninfo(conninfo(address), dbname=_CONSOLE),
        autocommit=True,
        application_name="fairlead autoscaler",
        connect_timeout=_CONNECT_SECONDS,
        prepare_threshold=None,
        tcp_user_timeout=_CONNECT_SECONDS * 1000,
    )


def clients_max(connection: Console) -> int | None:
    """Return the most clients that it accepts; None: it does not say.

    Raises:
        psycopg.Error: it does not answer this.
    """
    rows = connection.execute("show config").fetchall()
    said = {str(row[0]): str(row[1]) for row in rows if len(row) > 1}
    found = [int(said[name]) for name in _LIMITS & said.keys() if said[name].isdecimal()]
    return min((each for each in found if each > 0), default=None)
