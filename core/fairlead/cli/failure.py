"""What went wrong, as one sentence: the field, its value where it is known, and the fix."""

import psycopg
from psycopg import errors
from pydantic import ValidationError

from fairlead.cli.problem import Problem
from fairlead.settings import explain
from fairlead.store import Unreachable

_TABLES = ("jobs", "schedules", "worker_leases", "job_history", "job_progress")


def sentence(error: Exception) -> str | None:
    """Return the sentence for an error that people can do something about; None for a bug."""
    if isinstance(error, Problem):
        return str(error)
    if isinstance(error, Unreachable):
        where = "" if "FAIRLEAD_" in str(error) else "; FAIRLEAD_DATABASE_URL says where it is"
        return f"{error}{where}"
    if isinstance(error, ValidationError):
        return explain(error)
    if isinstance(error, UnicodeError):
        return "an argument is not valid UTF-8: give it in UTF-8"
    if isinstance(error, psycopg.Error):
        return _of_the_database(error)
    return None


def _of_the_database(error: psycopg.Error) -> str:
    said = " ".join((error.diag.message_primary or str(error)).split())
    said = said.removeprefix("fairlead: ")
    match error:
        case errors.CheckViolation() if error.diag.constraint_name:
            return f"refused: {bound(error.diag.constraint_name)}"
        case errors.InsufficientPrivilege():
            return f"{said}: log in as a member of fairlead_admin, or as the schema's owner"
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
            return f"{said}: the schema is not this version's, run `fairlead migrate`"
        case errors.LockNotAvailable():
            return f"{said}: another session holds it for long, so try again"
        case psycopg.OperationalError() if error.diag.sqlstate is None:
            return f"the connection to the database broke: {said}"
        case _:
            hint = error.diag.message_hint
            return f"the database refused: {said}" + (f" ({hint})" if hint else "")


def bound(constraint: str) -> str:
    """Say what a constraint demands: their names are written to be read.

    `jobs_priority_is_between_minus_100_and_100`: priority is between minus 100 and 100.
    """
    for table in _TABLES:
        constraint = constraint.removeprefix(f"{table}_")
    field, verb, rest = constraint.partition("_is_")
    if not verb:
        field, verb, rest = constraint.partition("_are_")
    demand = f"{verb.strip('_')} {rest.replace('_', ' ')}"
    return f"{field} {demand.replace('is ', 'must be ', 1).replace('are ', 'must be ', 1)}"
