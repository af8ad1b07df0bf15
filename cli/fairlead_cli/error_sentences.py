"""What went wrong, as one sentence: the field, its value where it is known, and the fix."""

from pathlib import Path

import psycopg
from psycopg import errors
from pydantic import ValidationError

from fairlead.db.connect import Unreachable, Unverified
from fairlead.db.lock_retry import TablesLocked
from fairlead.db.migrate import UnfitDatabase
from fairlead.runtime import extras
from fairlead.settings import explain
from fairlead_cli.errors import CommandError

_TABLES = (
    "jobs",
    "schedules",
    "batches",
    "worker_leases",
    "job_history",
    "job_progress",
    "policy_versions",
)
_DEMANDS = {
    "missed_is_skip_coalesce_or_catch_up": "missed must be skip, coalesce or catch_up",
    "timezone_is_known": "timezone must be one that PostgreSQL knows, such as Europe/Berlin",
    "headers_are_nested_at_most_500_deep_numbers_below_1e4000": (
        "headers must be nested at most 500 deep, and their numbers below 1e4000"
    ),
    "headers_are_nested_500_deep_numbers_below_1e4000": (
        "headers must be nested at most 500 deep, and their numbers below 1e4000"
    ),
    "payload_is_at_most_64_kib_and_its_numbers_below_1e4000": (
        "payload must be at most 64 KiB and its numbers below 1e4000"
    ),
    "payload_is_at_most_1_mib_and_numbers_below_1e4000": (
        "payload must be at most 1 MiB and its numbers below 1e4000"
    ),
}
"""What a constraint demands, where its name, which has a limit, reads badly."""
_VALUE_SHOWN_MAX = 40
_ADMINISTRATORS = (
    *("apply_policy", "note_refused_policy", "redact", "_erase_history", "remove_schedules"),
    "_erase_batches",
    *("_assign_pool", "_own_pool", "_take_over", "_own_database", "pool_logins"),
    *("tenant_logins",),
)
"""What an operator may not, as PostgreSQL names it when it refuses."""


def sentence(error: Exception) -> str | None:
    """Return the sentence for an error that people can do something about; None for a bug."""
    if isinstance(error, CommandError | UnfitDatabase | TablesLocked | Unverified):
        return str(error)
    if isinstance(error, Unreachable):
        return f"{error}{_where_it_is(str(error))}"
    if isinstance(error, ValidationError):
        return explain(error)
    if isinstance(error, UnicodeError):
        return "an argument is not valid UTF-8: give it in UTF-8"
    if isinstance(error, psycopg.Error):
        return _of_the_database(error)
    return extras.sentence(error) if isinstance(error, ModuleNotFoundError) else None


def _where_it_is(said: str) -> str:
    if "FAIRLEAD_" in said:
        return ""
    if Path(".fairlead").is_dir():
        return "; set FAIRLEAD_DATABASE_URL to the URL that `fairlead dev` prints here"
    return "; FAIRLEAD_DATABASE_URL says where it is"


def _of_the_database(error: psycopg.Error) -> str:
    said = " ".join((error.diag.message_primary or str(error)).split())
    said = said.removeprefix("fairlead: ")
    match error:
        case errors.CheckViolation() if error.diag.constraint_name:
            return f"refused: {bound(error.diag.constraint_name)}{_value(error.diag)}"
        case errors.InsufficientPrivilege():
            return f"{said}: log in as a member of {_role_for(said)}, or as the schema's owner"
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
            return f"{said}: the schema is not this version's, run `fairlead migrate`"
        case errors.LockNotAvailable():
            return f"{said}: another session holds it for long, so try again"
        case psycopg.OperationalError() if error.diag.sqlstate is None:
            return f"the connection to the database broke: {said}"
        case _:
            hint = error.diag.message_hint
            return f"the database refused: {said}" + (f" ({hint})" if hint else "")


def _role_for(said: str) -> str:
    """Return the roles that may do what PostgreSQL refused: for a few things one alone."""
    of_administrators = any(each in said for each in _ADMINISTRATORS)
    return "fairlead_admin" if of_administrators else "fairlead_operator or fairlead_admin"


def bound(constraint: str) -> str:
    """Say what a constraint demands: their names are written to be read.

    `jobs_priority_is_between_minus_100_and_100`: priority must be between minus 100 and 100.
    """
    for table in _TABLES:
        constraint = constraint.removeprefix(f"{table}_")
    if constraint in _DEMANDS:
        return _DEMANDS[constraint]
    field, verb, rest = constraint.partition("_is_")
    if not verb:
        field, verb, rest = constraint.partition("_are_")
    if not verb:
        return f"the constraint {constraint} must hold"
    demand = rest.replace("_", " ").replace(" kib", " KiB").replace(" mib", " MiB")
    return f"{field} must be {demand}"


def _value(diag: errors.Diagnostic) -> str:
    """Say what the field was, where the error's detail says so as `priority is '101'.` does.

    Not of a dedup key, which may be an address of a person's.
    """
    field, _, value = (diag.message_detail or "").removesuffix(".").partition(" is ")
    if not value or field != diag.column_name or field == "dedup_key":
        return ""
    shown = value if len(value) <= _VALUE_SHOWN_MAX else value[: _VALUE_SHOWN_MAX - 1] + "…"
    return f" (it is {shown})"
