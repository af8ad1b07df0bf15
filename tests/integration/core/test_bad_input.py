"""Thousands of bad INSERTs: each is refused with a reason, or is a job like any other."""

import json
import os
import random
import re
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow, dict_row

from fairlead.db import statements
from fairlead.db.statements import integers
from tests.support.children import register
from tests.support.logins import LogIn

BATCH = 500

_TEXTS = (
    *("default", "", " ", "\n", "x" * 128, "x" * 129, "ü" * 64, "ü" * 65, "x" * 100_000),
    *(
        "no such queue",
        "'; drop table fairlead.jobs; --",
        "\x1b[2J",
        "\u202e",
        "🐝" * 33,
        "\x7f",
    ),
    *("a\x00b", "NaN", "NULL", "%s", "{}", "-1", None, 7, True, 1.5, b"\xff\x00", ["a"]),
)
_NUMBERS = (
    *(
        0,
        1,
        -1,
        100,
        -100,
        101,
        -101,
        1000,
        1001,
        32_767,
        32_768,
        -32_769,
        2**31,
        2**63,
        10**40,
    ),
    *("7", "7.5", "1e1", "1e400", "NaN", "-NaN", "Infinity", "", " 5 ", "0x10", "five", "٣"),
    *(
        float("nan"),
        float("inf"),
        -0.0,
        0.5,
        Decimal("NaN"),
        Decimal("1e-9"),
        True,
        None,
        "\x00",
    ),
)
_TIMES = (
    *("now", "tomorrow", "yesterday", "epoch", "infinity", "-infinity", "1969-12-31 23:59+00"),
    *("1970-01-01 00:00+00", "9998-12-31 23:59:59+00", "9999-01-01 00:00+00", "294276-12-31"),
    *("0044-03-15 BC", "2026-02-30", "2026-11-21T25:00", "2026-11-21 09:00 Mars/Olympus"),
    *("2026-11-21 09:00", "12:00", "", "never", "\x00", None, 0, 1.5, True, "99999999-01-01"),
)
_DURATIONS = (
    *(
        "1 s",
        "1 ms",
        "0.9 ms",
        "1 us",
        "0",
        "-1 s",
        "30 days",
        "30 days 1 us",
        "1 mon",
        "1 year",
    ),
    *("-1 mon 31 days", "infinity", "-infinity", "P1D", "1e10 s", "178000000 years", "1:2:3:4"),
    *("", "soon", "NaN", "\x00", None, 5, 1.5, True, timedelta(minutes=2), timedelta(days=-1)),
)
_JSON = (
    *(
        "{}",
        "[]",
        "null",
        "true",
        "0",
        '"x"',
        '{"a": 1}',
        "",
        "{",
        "{'a': 1}",
        "NaN",
        "Infinity",
    ),
    *(
        '"\\u0000"',
        '"\\ud800"',
        '"\\uDEAD\\uD800"',
        '{"a": NaN}',
        "1e400",
        "1e4001",
        "-1e131071",
    ),
    *("1e131072", "1e-16383", "1e-20000", "[1e131071, 1e131071]", "9" * 4301, "1" + "0" * 3998),
    *("[" * 499 + "]" * 499, "[" * 501 + "]" * 501, "[" * 5000 + "]" * 5000, '{"a":' * 9999),
    *('"' + "x" * 1_048_574 + '"', '"' + "x" * 1_048_575 + '"', '{"' + "k" * 9000 + '": 1}'),
    *('{"a": 1, "a": 2}', "[1,]", "/**/1", "\x00", None, 5, True, b"{}", '{"t": "\\u001b[2J"}'),
)
VALUES: dict[str, tuple[object, ...]] = {
    "queue": _TEXTS,
    "tenant": _TEXTS,
    "kind": _TEXTS,
    "dedup_key": _TEXTS,
    "priority": _NUMBERS,
    "max_attempts": _NUMBERS,
    "run_at": _TIMES,
    "expires_at": _TIMES,
    "timeout": _DURATIONS,
    "cost_hint": _DURATIONS,
    "payload": _JSON,
    "headers": _JSON,
}
_OLDEST = "SELECT id FROM fairlead.jobs ORDER BY id LIMIT %s"


@dataclass(frozen=True, slots=True)
class Insertion:
    """What became of one INSERT: accepted without a reason, or refused with one."""

    reason: str | None
    readable: bool


def generated(drawn: random.Random) -> dict[str, object]:
    """Return the columns of one INSERT, of which up to three are drawn from the wild."""
    row: dict[str, object] = {"kind": "k"}
    for column in drawn.sample(sorted(VALUES), drawn.choice((1, 1, 1, 2, 3))):
        value = drawn.choice(VALUES[column])
        if isinstance(value, str) and drawn.random() < 0.1:
            cut = drawn.randrange(len(value) + 1)
            value = value[:cut] + chr(drawn.randrange(1, 0xD800)) + value[cut:]
        row[column] = value
    return row


def insert(application: Connection[TupleRow], row: dict[str, object]) -> Insertion:
    """Insert one row and say what became of it."""
    places = ", ".join(["%s"] * len(row))
    statement = f"INSERT INTO fairlead.jobs ({', '.join(row)}) VALUES ({places})"
    try:
        application.execute(statement.encode(), list(row.values()))
    except psycopg.Error as error:
        return insertion_error(error)
    return Insertion(None, readable=True)


def insertion_error(error: psycopg.Error) -> Insertion:
    """Say whether a refusal tells its reason: a constraint or PostgreSQL's type error."""
    constraint = error.diag.constraint_name or ""
    match error:
        case errors.CheckViolation():
            return Insertion(
                constraint, readable=bool(re.fullmatch(r"jobs_\w+?_(is|are)_\w+", constraint))
            )
        case errors.UniqueViolation():
            return Insertion(constraint, readable=constraint == "jobs_dedup")
        case errors.NotNullViolation():
            return Insertion("not null", readable=error.diag.column_name in VALUES)
        case psycopg.Error(sqlstate=None):
            # The driver's own: text cannot hold NUL.
            return Insertion("driver", readable="NUL" in str(error))
        case _:
            # Data exceptions, too complex a value, a wrong type, "cannot convert NaN".
            state = error.sqlstate or ""
            return Insertion(
                state, readable=state[:2] in ("22", "54") or state in ("42804", "0A000")
            )


@pytest.mark.parametrize("inserts", [2000, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_bad_insert_is_refused_with_a_reason_or_is_a_job_like_any_other(
    db: Connection[TupleRow], log_in: LogIn, inserts: int
) -> None:
    """Refused by a readable constraint or PostgreSQL's type error, or accepted and run."""
    seed = os.environ.get("FAIRLEAD_TEST_SEED") or str(random.SystemRandom().randrange(10**9))
    drawn, said = random.Random(seed), f"FAIRLEAD_TEST_SEED={seed}"
    application = log_in("fairlead_enqueue")
    reasons: Counter[str | None] = Counter()

    for _ in range(inserts):
        row = generated(drawn)
        insertion = insert(application, row)
        assert insertion.readable, f"{insertion.reason} for {row!r:.300}, {said}"
        reasons[insertion.reason] += 1

    assert reasons[None] > inserts / 10
    assert len(reasons) > 20
    assert reasons[None] == readable(application) == run(db)


def readable(application: Connection[TupleRow]) -> int:
    """Load every stored value as a client that knows nothing does; return how many jobs."""
    return len(application.execute("SELECT * FROM fairlead.job_status").fetchall())


def run(db: Connection[TupleRow]) -> int:
    """Dispatch, claim and finish every job by the services' statements; return how many."""
    db.execute(
        "UPDATE fairlead.jobs SET run_at = NULL, due_at = run_at WHERE run_at IS NOT NULL"
    )
    db.execute("UPDATE fairlead.leaders SET epoch = 1 WHERE role = 'scheduler'")
    worker = register(db)
    finished = 0
    while ids := [
        int(row[0])
        for row in db.execute(
            f"SELECT id FROM fairlead.jobs ORDER BY id LIMIT {BATCH}".encode()
        )
    ]:
        dispatch(db, ids)
        finished += finish(db, claim(db, worker))
    return finished


def dispatch(db: Connection[TupleRow], ids: list[int]) -> None:
    """Move jobs into the work queue."""
    one_each = integers([1] * len(ids))
    db.execute(
        statements.load("fairlead_scheduler.loop", "dispatch"),
        {
            "epoch": 1,
            "pool": "default",
            "band": 0,
            "floor": 0,
            "ids": integers(ids),
            "vtags": one_each,
            "estimates_us": one_each,
            "seen_us": one_each,
            "used": None,
            "kinds": None,
            "counted": None,
            "workers": None,
            "timeout_default": "10 min",
            "timeout_max": "1 hour",
        },
    )


def claim(db: Connection[TupleRow], worker: int) -> list[tuple[int, int]]:
    """Claim what is queued, read each payload, and return ids and tokens."""
    with db.cursor(row_factory=dict_row) as cursor:
        cursor.execute(
            statements.load("fairlead_worker.attempts", "claim"),
            {
                "worker": worker,
                "pool": "default",
                "below_floor": True,
                "limit": BATCH,
                "full_kinds": None,
            },
        )
        rows = cursor.fetchall()
    for row in rows:
        json.loads(row["payload"])
        json.loads(row["headers"] or "{}")
    return sorted((int(row["job_id"]), int(row["token"])) for row in rows)


def finish(db: Connection[TupleRow], held: list[tuple[int, int]]) -> int:
    """Finish what was claimed; return how many tokens held."""
    nothing = integers([None] * len(held))
    cursor = db.execute(
        statements.load("fairlead_worker.attempts", "finish"),
        {
            "ids": integers(job for job, _ in held),
            "tokens": integers(token for _, token in held),
            "outcomes": nothing,
            "results": nothing,
            "errors": nothing,
            "run_us": nothing,
        },
    )
    return len(cursor.fetchall())


@pytest.mark.parametrize("column", ["payload", "kind"])
def test_100_mb_are_refused_by_the_constraint_of_their_column(
    log_in: LogIn, column: str
) -> None:
    """The limit is 1 MiB for a payload and less for the rest."""
    application = log_in("fairlead_enqueue")
    huge = "x" * 100_000_000
    value = f'"{huge}"' if column == "payload" else huge

    insertion = insert(application, {"kind": "k", column: value})

    assert str(insertion.reason).startswith(f"jobs_{column}_")
    assert [] == application.execute("SELECT * FROM fairlead.job_status").fetchall()
