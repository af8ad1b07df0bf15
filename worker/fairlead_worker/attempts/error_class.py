"""Classify database errors: whether an ending's content or the database is at fault. Pure."""

import psycopg

_SESSIONS = "25"
"""SQLSTATEs of the transaction's state: a read-only server or session, above all."""


def is_job_fault(error: psycopg.Error) -> bool:
    """Return whether the content of an ending cannot be stored, anywhere and ever.

    A row that fits no partition has the SQLSTATE of a broken CHECK too, and no constraint's
    name: that is a fault of the table.
    """
    if isinstance(error, psycopg.errors.CheckViolation):
        return error.diag.constraint_name is not None
    return isinstance(error, psycopg.DataError | psycopg.errors.ProgramLimitExceeded)


def may_concern_some_only(error: psycopg.Error) -> bool:
    """Return whether the rest of a batch may be stored although this error met it.

    Not where the connection, the session or the server is in a state that takes nothing.
    """
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return isinstance(error, psycopg.errors.ProgramLimitExceeded)
    return not (error.sqlstate or "").startswith(_SESSIONS)
