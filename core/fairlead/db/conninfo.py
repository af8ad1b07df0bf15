"""What is wrong with a connection string, in a message that repeats no part of it.

libpq's own messages quote the text that it could not parse, which may be a password, or the
part of one after an `@` or a `/`.
"""

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

_SCHEMES = ("postgresql://", "postgres://")
_FORM = (
    "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, in user and password %40 for @, "
    "%2F for / and %25 for %"
)


def find_error(conninfo: str) -> str | None:
    """Return the rest of a sentence that begins with the setting's name; None: it is valid.

    It opens no connection and ignores libpq's environment variables.
    """
    try:
        parts = conninfo_to_dict(conninfo)
    except (ProgrammingError, UnicodeError):
        return f"cannot be read as a connection URL: {_FORM}"
    ports = str(parts.get("port") or "").split(",")
    if _is_cut_short(conninfo) or not all(port.strip().isdigit() for port in ports if port):
        return f"has an @ or a / that cuts its password off, or no number as its port: {_FORM}"
    return None


def has_password(conninfo: str) -> bool:
    """Return whether a valid connection string holds a password."""
    return bool(conninfo_to_dict(conninfo).get("password"))


def _is_cut_short(conninfo: str) -> bool:
    """Return whether there is an @ where libpq reads a host or a database."""
    if not conninfo.startswith(_SCHEMES):
        return False
    address = conninfo.partition("?")[0].partition("://")[2]
    login_and_hosts, _, database = address.partition("/")
    return login_and_hosts.count("@") > 1 or "@" in database
