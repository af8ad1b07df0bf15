"""Jobs that no INSERT is admitted with, and that a superuser or a restore can store."""

from typing import LiteralString

from psycopg import Connection, sql
from psycopg.rows import TupleRow

DEEP: LiteralString = "(repeat('[', 5000) || repeat(']', 5000))::jsonb"
JOBS: dict[str, dict[LiteralString, LiteralString]] = {
    "run_at infinity": {"run_at": "'infinity'"},
    "run_at 294276": {"run_at": "'294276-12-31 23:59:59+00'"},
    "run_at -infinity": {"run_at": "'-infinity'"},
    "run_at 4713 BC": {"run_at": "'4713-02-01 BC'"},
    "expires_at infinity": {"expires_at": "'infinity'"},
    "expires_at 294276": {"expires_at": "'294276-12-31 23:59:59+00'"},
    "expires_at -infinity": {"expires_at": "'-infinity'"},
    "expires_at 4713 BC": {"expires_at": "'4713-02-01 BC'"},
    "created_at infinity": {"created_at": "'infinity'"},
    "created_at -infinity": {"created_at": "'-infinity'"},
    "due_at infinity": {"due_at": "'infinity'"},
    "due_at -infinity": {"due_at": "'-infinity'"},
    "due_at 294276": {"due_at": "'294276-12-31 23:59:59+00'"},
    "timeout of ages": {"timeout": "'178000000 years'"},
    "timeout zero": {"timeout": "'0'", "max_attempts": "1"},
    "timeout negative": {"timeout": "'-1 s'", "max_attempts": "1"},
    "timeout of ages ago": {"timeout": "'-178000000 years'", "max_attempts": "1"},
    "cost_hint of ages": {"cost_hint": "'178000000 years'"},
    "cost_hint of ages ago": {"cost_hint": "'-178000000 years'"},
    "priority lowest": {"priority": "-32767"},
    "priority highest": {"priority": "32767"},
    "max_attempts lowest": {"max_attempts": "-2147483648"},
    "max_attempts highest": {"max_attempts": "2147483647"},
    "attempts lowest": {"attempts": "-2147483648"},
    "attempts highest": {"attempts": "2147483647"},
    "crashes lowest": {"crashes": "-2147483648", "suspect": "true"},
    "crashes highest": {"crashes": "2147483647", "suspect": "true"},
    "losses highest": {"losses": "2147483647"},
    "lone_deaths highest": {"lone_deaths": "2147483647", "suspect": "true"},
    "seq lowest": {"seq": "-9223372036854775808"},
    "seq -1": {"seq": "-1"},
    "seq 0": {"seq": "0"},
    "seq highest": {"seq": "9223372036854775807"},
    "queue empty": {"queue": "''"},
    "queue of 10 kB": {"queue": "repeat('q', 10000)"},
    "queue of control characters": {"queue": "E'\\x01\\x1b[2J\\r\\n\\x7f'"},
    "tenant of 10 kB": {"tenant": "repeat('t', 10000)"},
    "tenant of control characters": {"tenant": "E'\\x01\\x1b[2J\\r\\n\\x7f'"},
    "kind empty": {"kind": "''"},
    "kind of 10 kB": {"kind": "repeat('k', 10000)"},
    "kind of control characters": {"kind": "E'\\x01\\x1b[2J\\r\\n\\x7f'"},
    "dedup_key of 10 kB": {"dedup_key": "repeat('d', 10000) || random()"},
    "payload of 30 MB": {"payload": "to_jsonb(repeat('x', 30000000))"},
    "payload nested 5,000 deep": {"payload": DEEP},
    "payload of 131,000 digits": {"payload": "'1e131000'"},
    "headers a list": {"headers": "'[1]'"},
    "headers a number": {"headers": "'1e131000'"},
    "headers nested 5,000 deep": {"headers": DEEP},
    "last_error of 1 MB": {"last_error": "repeat('e', 1000000)"},
    "retry_of highest": {"retry_of": "9223372036854775807"},
}
"""What each is called, and its columns."""

ENDLESS: dict[str, dict[LiteralString, LiteralString]] = {
    "timeout infinity": {"timeout": "'infinity'"},
    "timeout -infinity": {"timeout": "'-infinity'", "max_attempts": "1"},
    "cost_hint infinity": {"cost_hint": "'infinity'"},
    "cost_hint -infinity": {"cost_hint": "'-infinity'"},
}
"""Those that PostgreSQL stores from version 17 on."""

OTHERS: tuple[tuple[LiteralString, LiteralString], ...] = (
    ("schedules", "considered_until = 'infinity', created_at = 'infinity'"),
    ("schedules", "considered_until = '-infinity', created_at = '-infinity'"),
    ("schedules", "considered_until = '294276-12-31 23:59:59+00', expires_in = '365 days'"),
    ("schedules", "problem = repeat('p', 1000000), created_by = repeat('l', 10000)"),
    ("schedules", "tenant = E'\\x01\\x1b[2J', name = E'\\x7f\\r\\n', priority = -100"),
    ("worker_leases", "started_at = 'infinity', lease_until = 'infinity'"),
    ("worker_leases", "started_at = '-infinity', lease_until = '-infinity'"),
    ("worker_leases", "dead_at = 'infinity'"),
    ("worker_leases", "dead_at = '-infinity'"),
    ("worker_leases", "slots = 2147483647, slots_full = 2147483647"),
    ("worker_leases", "host = repeat('h', 1000000), pod_uid = repeat('u', 100)"),
    ("worker_leases", "crash_breakers = '1', pod_name = repeat('n', 1000000)"),
    ("worker_leases", """crash_breakers = '[1, null, {}, [], ["k"], [1, 2], [["k"], "t"]]'"""),
    ("worker_leases", f"crash_breakers = {DEEP}"),
    ("worker_leases", "pool = E'\\x01\\x1b[2J', login = repeat('l', 60)"),
    ("job_history", "created_at = '-infinity', enqueued_by = repeat('l', 60)"),
    ("job_history", "error = repeat('e', 1000000), result = '1e131000'"),
    ("job_history", "claimed_at = '-infinity', due_at = 'infinity', attempt = 2147483647"),
    ("leaders", "taken_at = 'infinity', lease_until = 'infinity'"),
    ("leaders", "taken_at = '-infinity', lease_until = '-infinity'"),
    ("leaders", "holder = repeat('h', 1000000)"),
    ("policy_versions", "document = repeat('[', 100000)"),
)
"""Rows of other tables, each with what is changed of it."""


def bad_job(db: Connection[TupleRow], called: str, kind: LiteralString = "noop") -> int:
    """Store the job without a trigger, as a superuser can; return its id."""
    columns: dict[LiteralString, LiteralString] = {
        "kind": f"'{kind}'",
        **{**JOBS, **ENDLESS}[called],
    }
    statement = sql.SQL("INSERT INTO fairlead.jobs ({}) VALUES ({}) RETURNING id").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join(map(_expression, columns.values())),
    )
    with db.transaction():
        db.execute("SET LOCAL session_replication_role = replica")
        row = db.execute(statement).fetchone()
        db.execute("SET LOCAL session_replication_role = origin")
    assert row is not None
    return int(row[0])


def exists(db: Connection[TupleRow], called: str) -> bool:
    """Return whether the server can store it at all."""
    return called in JOBS or db.info.server_version >= 170_000


def _expression(text: LiteralString) -> sql.SQL:
    return sql.SQL(text)
