"""What an error of the database is called in logs and in the errors of attempts.

A server's detail and context quote the row, the key or the document that it refuses: perhaps a
job's payload or result. Its primary message names what is wrong and quotes none of them.
"""

import psycopg


def one_line(error: Exception) -> str:
    """Return the primary message of the server, or what the driver or the network said."""
    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((primary or str(error)).split()) or type(error).__name__
