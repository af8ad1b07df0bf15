"""What is wrong with a connection string, said without repeating any of it.

libpq's own words quote what it could not read, and that may be a password, or the half of one
that an `@` or a `/` in it has cut off.
"""

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

_SCHEMES = ("postgresql://", "postgres://")
_FORM = (
    "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, in user and password %40 for @, "
    "%2F for / and %25 for %"
)


def fault(conninfo: str) -> str | None:
    """Return the rest of a sentence that begins with the setting's name; None: it can be read.

    Nothing is connected to, and variables of libpq are not looked at.
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
    """Tell whether a connection string that can be read holds a password."""
    return bool(conninfo_to_dict(conninfo).get("password"))


def _is_cut_short(conninfo: str) -> bool:
    """Tell whether an @ stands where libpq reads a host or a database."""
    if not conninfo.startswith(_SCHEMES):
        return False
    address = conninfo.partition("?")[0].partition("://")[2]
    login_and_hosts, _, database = address.partition("/")
    return login_and_hosts.count("@") > 1 or "@" in database
