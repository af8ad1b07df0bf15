"""Which server this is: what the labels of tenants are made with."""

from fairlead.db import statements
from fairlead.db.connect import Connection


def server_identifier(connection: Connection) -> str:
    """Return the identifier of the server, which its standbys share.

    Raises:
        psycopg.Error: the session broke, or the login may not ask.
    """
    (found,) = connection.execute(statements.load("fairlead", "server_identifier")).fetchall()
    return str(found[0])
