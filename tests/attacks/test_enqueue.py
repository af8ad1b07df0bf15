"""A login that may only insert jobs tries to store one that stops the services for all."""

import re
from typing import LiteralString

import psycopg
import pytest
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from tests.support.logins import LogIn

Database = Connection[TupleRow]

_WITHOUT_PATH = [("_admit_job",), ("_wake_scheduler",), ("_wake_scheduler_at_ending",)]
"""The functions that do without a search path of their own."""

# In front of pg_catalog, each makes a bound of the admission hold whatever the value. All take
# the types of an expression in it exactly, as nothing else is preferred to pg_catalog's.
_SHADOWS = (
    ("num_nonnulls(timestamptz, timestamptz, interval, interval, text, jsonb)", "integer", "0"),
    ("octet_length(text)", "integer", "1"),
    ("pg_sequence_last_value(regclass)", "bigint", "null"),
    ("jsonb_path_exists(jsonb, jsonpath)", "boolean", "false"),
    ("jsonb_typeof(jsonb)", "text", "'object'"),
    ("least_of_two(integer, integer)", "boolean", "true"),
    ("least_of_two(smallint, integer)", "boolean", "true"),
    ("never(timestamptz, timestamptz)", "boolean", "false"),
    ("always(interval, interval)", "boolean", "true"),
    ("same_instant(timestamptz, timestamptz)", "boolean", "false"),
)
_OPERATORS = (
    *((each, "integer", "integer", "least_of_two") for each in (">=", "<=", "=")),
    *((each, "smallint", "integer", "least_of_two") for each in (">=", "<=")),
    *((each, "timestamptz", "timestamptz", "never") for each in ("<", ">=")),
    ("<=", "timestamptz", "timestamptz", "same_instant"),
    *((each, "interval", "interval", "always") for each in (">=", "<=")),
)
_BAD: dict[str, tuple[LiteralString, LiteralString]] = {
    "a payload of 2 MB": ("payload", "to_jsonb(repeat('x', 2000000))"),
    "a payload that is nested": ("payload", "(repeat('[', 5000) || repeat(']', 5000))::jsonb"),
    "a number of many digits": ("payload", "'1e131000'"),
    "headers that are a list": ("headers", "'[1]'"),
    "a queue of 10,000 bytes": ("queue", "repeat('q', 10000)"),
    "a queue without a name": ("queue", "''"),
    "a kind without a name": ("kind", "''"),
    "a tenant of 10,000 bytes": ("tenant", "repeat('t', 10000)"),
    "a priority beyond the bounds": ("priority", "32767"),
    "attempts without end": ("max_attempts", "2147483647"),
    "a job that is never due": ("run_at", "'infinity'"),
    "a job from before all times": ("run_at", "'-infinity'"),
    "a job that never expires": ("expires_at", "'infinity'"),
    "a hint of ages": ("cost_hint", "'178000000 years'"),
    "a negative timeout": ("timeout", "'-1 s'"),
    "an empty dedup key": ("dedup_key", "''"),
}


@pytest.fixture
def attacker(db: Database, log_in: LogIn) -> Database:
    """Return a login of the enqueue role with a schema of its own, which it looks in first."""
    login = log_in("fairlead_enqueue")
    owner = sql.Identifier(login.info.user)
    db.execute(sql.SQL("CREATE SCHEMA mine AUTHORIZATION {}").format(owner))
    for function, result, value in _SHADOWS:
        login.execute(
            f"CREATE FUNCTION mine.{function} RETURNS {result} LANGUAGE sql"
            f" AS $$ SELECT {value}::{result} $$".encode()
        )
    for operator, left, right, function in _OPERATORS:
        login.execute(
            f"CREATE OPERATOR mine.{operator} (FUNCTION = mine.{function},"
            f" LEFTARG = {left}, RIGHTARG = {right})".encode()
        )
    login.execute("SET search_path = mine, pg_catalog")
    return login


def insert(column: LiteralString, value: LiteralString) -> sql.Composed:
    """Return an INSERT of a job that is usual but for one column."""
    kind = sql.SQL("" if column == "kind" else ", kind")
    return sql.SQL("INSERT INTO fairlead.jobs ({}{}) VALUES ({}{})").format(
        sql.Identifier(column),
        kind,
        sql.SQL(value),
        sql.SQL("" if column == "kind" else ", 'k'"),
    )


def full(db: Database) -> None:
    """Have the lane of the tenant without a name accept no jobs, as the leader would."""
    db.execute(
        "INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)"
        " VALUES ('default', '', 1000, 900)"
    )
    db.execute("SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/'))")


@pytest.mark.parametrize("said", _BAD)
def test_a_job_is_admitted_by_the_same_rules_whatever_its_login_shadows(
    said: str, attacker: Database
) -> None:
    """The rules name functions and operators, and the login has its own of the same names."""
    with pytest.raises(errors.CheckViolation, match="violates check constraint"):
        attacker.execute(insert(*_BAD[said]))


def test_a_backlog_limit_holds_whatever_a_login_shadows(
    db: Database, attacker: Database
) -> None:
    """The sentence is the one that everybody gets."""
    full(db)

    with pytest.raises(psycopg.DatabaseError, match="at its backlog limit of 1000") as refused:
        attacker.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
    assert "FL005" == refused.value.sqlstate


def test_a_temporary_table_shadows_nothing(db: Database, attacker: Database) -> None:
    """A session's temporary tables come first where a search path does not name them."""
    full(db)
    attacker.execute("CREATE TEMP TABLE over_backlog (queue text, tenant text)")
    attacker.execute("SET search_path = pg_temp, mine, pg_catalog")

    with pytest.raises(psycopg.DatabaseError, match="at its backlog limit"):
        attacker.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")


def test_no_function_looks_up_names_where_its_caller_says(db: Database) -> None:
    """A function has its names resolved when it is made, or a search path of its own.

    Defaults, CHECK constraints, indexes, views, row-level security and the conditions of
    triggers are stored with their names resolved, and need nothing. The admission is left out:
    it calls two functions by their qualified names and does nothing else, since to set a search
    path for each row took an INSERT a fifth longer; the attacks above are on it. What asks
    whether to notify is left out too.
    """
    assert (
        _WITHOUT_PATH
        == db.execute(
            "SELECT p.proname FROM pg_proc p"
            " WHERE p.pronamespace = 'fairlead'::regnamespace AND p.prosqlbody IS NULL"
            " AND coalesce('search_path=pg_catalog, pg_temp' <> ALL (p.proconfig), true)"
            " ORDER BY 1"
        ).fetchall()
    )


@pytest.mark.parametrize(
    ("trigger", "switch", "reason"),
    [
        ("_wake_scheduler", "inserts_notify", "inserted"),
        ("_wake_scheduler_at_ending", "endings_notify", "ended"),
    ],
)
def test_what_notifies_names_nothing_that_is_looked_up(
    db: Database, trigger: str, switch: str, reason: str
) -> None:
    """Each function stands with its schema, and there is no operator and no type."""
    ((source,),) = db.execute(
        "SELECT prosrc FROM pg_proc WHERE oid = (%s || '()')::regprocedure",
        [f"fairlead.{trigger}"],
    ).fetchall()
    read = f"pg_catalog.pg_sequence_last_value('fairlead.{switch}') is not null"
    told = f"perform fairlead._notify_scheduler('{reason}');"
    returned = "new" if reason == "ended" else "null"

    assert f"begin if {read} then {told} end if; return {returned}; end" == " ".join(
        str(source).split()
    )


def test_the_admission_names_only_functions_of_fairlead(db: Database) -> None:
    """No operator, no cast and no type: each would be looked up where the caller says."""
    ((source,),) = db.execute(
        "SELECT prosrc FROM pg_proc WHERE oid = 'fairlead._admit_job()'::regprocedure"
    ).fetchall()
    names = re.sub(r"\bfairlead\._\w+\(|\bnew\.\w+|[,;()]|:=|\bnew\b", " ", str(source)).split()

    assert ["begin", "if", "not", "then", "end", "if", "return", "end"] == names


def test_no_login_can_put_a_trigger_function_on_a_table_of_its_own(attacker: Database) -> None:
    """They run as the schema's owner, and so only where Fairlead put them."""
    attacker.execute("CREATE TABLE mine.jobs (queue text)")

    with pytest.raises(errors.InsufficientPrivilege):
        attacker.execute(
            "CREATE TRIGGER mine BEFORE INSERT ON mine.jobs"
            " FOR EACH ROW EXECUTE FUNCTION fairlead._admit_job()"
        )


@pytest.mark.parametrize(
    "question",
    [
        "SELECT last_value FROM fairlead.backlog_gate",
        "SELECT fairlead._backlog_bit('default/acme')",
        "SELECT fairlead._has_room('default', 'acme', null, null)",
        "SELECT queue FROM fairlead.over_backlog",
    ],
)
def test_a_login_cannot_ask_which_lanes_are_full(
    question: LiteralString, db: Database, log_in: LogIn
) -> None:
    """It learns of the lane of a job that it inserts, by its refusal."""
    full(db)

    with pytest.raises(errors.InsufficientPrivilege):
        log_in("fairlead_enqueue").execute(question)


def test_a_login_cannot_read_the_gate_past_its_table(db: Database, log_in: LogIn) -> None:
    """PostgreSQL 18 answers null where older ones refuse."""
    full(db)
    try:
        seen = (
            log_in("fairlead_enqueue")
            .execute("SELECT pg_sequence_last_value('fairlead.backlog_gate')")
            .fetchone()
        )
    except errors.InsufficientPrivilege:
        seen = (None,)

    assert (None,) == seen
