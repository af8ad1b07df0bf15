"""Pauses inside of statements: between those of a function, and after a statement's snapshot.

The functions are the product's own, read from the catalog and stored again with calls of
`proof.pause`. It tells the client where its session is, and waits for an advisory lock there.
A trigger for each statement pauses when the statement has its snapshot and has locked nothing;
`_leads`, which a leader's statement calls, pauses there as well. Other sessions pause nowhere.
"""

import re
from collections.abc import Callable

from psycopg import Connection
from psycopg.rows import TupleRow

Database = Connection[TupleRow]

FUNCTIONS = (
    "_make_history_partitions",
    "_cancel_jobs",
    "_end_attempts",
    "_end_expired",
    "_end_unstarted",
    "_expire",
    "_leads",
    "_move_jobs",
    "_recall",
    "_redrive",
    "_set_priorities",
    "cancel",
    "checkpoint",
    "complete",
    "make_history_partitions",
    "retry",
    "set_priority",
    "store_checkpoints",
)
_IMPATIENT = ("make_history_partitions",)
"""They wait for locks for as long as a schedule wants them to."""
TABLES = ("jobs", "leaders", "work_queue", "worker_leases")

_SCHEMA = """
    CREATE SCHEMA proof;
    CREATE SEQUENCE proof.turns_0;
    CREATE SEQUENCE proof.turns_1;
    CREATE SEQUENCE proof.turns_2;
    CREATE FUNCTION proof.pause(place text) RETURNS boolean LANGUAGE plpgsql
    SET lock_timeout = 0 AS $$
    DECLARE
        side constant text := nullif(current_setting('proof.side', true), '');
        turn integer;
    BEGIN
        IF side IS NOT NULL THEN
            turn := nextval('proof.turns_' || side) % 2;
            RAISE NOTICE 'paused at %', place;
            PERFORM pg_advisory_lock(side::integer, turn);
            PERFORM pg_advisory_unlock(side::integer, turn);
        END IF;
        RETURN true;
    END $$;
    CREATE FUNCTION proof.pause_statement() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF proof.pause(lower(tg_op) || ' of ' || tg_table_name) THEN
            NULL;
        END IF;
        RETURN NULL;
    END $$;
"""
_SOURCES = """
    SELECT proname, pg_get_functiondef(oid) FROM pg_proc
    WHERE pronamespace = 'fairlead'::regnamespace AND prokind = 'f'
"""
_PARTITIONS = """
    SELECT c.oid::regclass::text FROM pg_class c
    WHERE c.relkind = 'r' AND c.oid::regclass::text ~ '^fairlead.job_history_.*[0-9]$'
      AND to_date(right(c.relname, 8), 'YYYYMMDD')
          NOT BETWEEN (now() AT TIME ZONE 'UTC')::date - 1 AND (now() AT TIME ZONE 'UTC')::date
"""
_BEGINNING = re.compile(
    r"\s*(perform|select|with|update|insert|delete|return query|lock table|execute)\b"
)
_BEFORE = re.compile(r"(;|\b(begin|then|else|loop))\s*$")
_HARMLESS = re.compile(r"_require_read_committed|\._notify\(|_record_audit")


def install(db: Database, change: Callable[[str, str], str] | None = None) -> None:
    """Put the pauses into a database, and keep only partitions of history up to today.

    Each costs every schedule a part of a millisecond. A function of the list that gets no pause
    is an error: its steps would be one.

    Args:
        db: a session of the superuser.
        change: breaks a function, by its name and text, to see what notices.
    """
    db.execute(_SCHEMA.encode())
    unpaused = set(FUNCTIONS)
    for name, stored in db.execute(_SOURCES).fetchall():
        changed = change(name, stored) if change else stored
        text = paused(name, changed) if name in FUNCTIONS else changed
        if text != stored:
            db.execute(text.encode())
        if "proof.pause(" in text:
            unpaused.discard(name)
    assert not unpaused, f"functions without a pause: {sorted(unpaused)}"
    for name in _IMPATIENT:
        db.execute(f"ALTER FUNCTION fairlead.{name} SET lock_timeout = '60s'".encode())
    for (partition,) in db.execute(_PARTITIONS).fetchall():
        db.execute(f"DROP TABLE {partition}".encode())
    for table in TABLES:
        db.execute(
            f"CREATE TRIGGER a_pause BEFORE INSERT OR UPDATE OR DELETE ON fairlead.{table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION proof.pause_statement()".encode()
        )


def paused(name: str, text: str) -> str:
    """Return a function with a pause before each of its statements.

    Not by PERFORM, which would set FOUND.
    """
    lines: list[str] = []
    inside, before, number = False, "", 0
    for line in text.splitlines():
        begins = inside and _BEGINNING.match(line) and _BEFORE.search(before)
        if begins and not _HARMLESS.search(line):
            number += 1
            lines.append(f"if proof.pause('{name} {number}') then null; end if;")
        lines.append(line)
        inside = inside or line.strip() == "begin"
        code = line.split("--")[0].rstrip()
        before = code or before
    return "\n".join(lines)
