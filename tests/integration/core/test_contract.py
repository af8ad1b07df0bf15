"""The contract with applications: plain SQL on one table, in their own transactions."""

import re

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from docs.generate.sql import CHECKS
from tests.conftest import Background, Connect
from tests.support.waiting import blocked

_DEEP = '{"a":' * 500 + "1" + "}" * 500

# For each constraint a column and what it refuses, as an application would write it.
BAD_JOBS = {
    "jobs_queue_is_1_to_128_bytes": ("queue", "''"),
    "jobs_tenant_is_at_most_128_bytes": ("tenant", "repeat('ü', 65)"),
    "jobs_kind_is_1_to_128_bytes": ("kind", "repeat('k', 129)"),
    "jobs_payload_is_at_most_1_mib_and_its_numbers_below_1e4000": ("payload", "'[1e4000]'"),
    "jobs_payload_is_nested_at_most_500_deep": ("payload", f"'{_DEEP}'"),
    "jobs_headers_are_an_object_of_at_most_8_kib": ("headers", "'[]'"),
    "jobs_headers_are_nested_at_most_500_deep_numbers_below_1e4000": ("headers", f"'{_DEEP}'"),
    "jobs_dedup_key_is_1_to_256_bytes": ("dedup_key", "repeat('k', 257)"),
    "jobs_priority_is_between_minus_100_and_100": ("priority", "101"),
    "jobs_max_attempts_is_between_1_and_1000": ("max_attempts", "0"),
    "jobs_timeout_is_between_1_ms_and_30_days": ("timeout", "'30 days 1 us'"),
    "jobs_cost_hint_is_between_1_us_and_30_days": ("cost_hint", "'0'"),
    "jobs_run_at_is_between_1970_and_9999": ("run_at", "'infinity'"),
    "jobs_expires_at_is_between_1970_and_9999": ("expires_at", "'-infinity'"),
}
MORE_BAD_JOBS = [
    ("jobs_run_at_is_between_1970_and_9999", "run_at", "'-infinity'"),
    ("jobs_run_at_is_between_1970_and_9999", "run_at", "'0044-03-15 12:00 BC'"),
    ("jobs_payload_is_at_most_1_mib_and_its_numbers_below_1e4000", "payload", "'-1e131071'"),
    (
        "jobs_payload_is_at_most_1_mib_and_its_numbers_below_1e4000",
        "payload",
        "to_jsonb(repeat('x', 1048576))",
    ),
    ("jobs_headers_are_an_object_of_at_most_8_kib", "headers", "'{\"n\": 1e131071}'"),
    ("jobs_kind_is_1_to_128_bytes", "kind", "''"),
    ("jobs_priority_is_between_minus_100_and_100", "priority", "-101"),
    ("jobs_timeout_is_between_1_ms_and_30_days", "timeout", "'-1 s'"),
]
BAD_SCHEDULES = {
    "schedules_name_is_1_to_128_bytes": ("name", "''"),
    "schedules_cron_is_five_or_six_fields": ("cron", "'* * * *'"),
    "schedules_timezone_is_known": ("timezone", "''"),
    "schedules_missed_is_skip_coalesce_or_catch_up": ("missed", "'maybe'"),
    "schedules_queue_is_1_to_128_bytes": ("queue", "''"),
    "schedules_tenant_is_at_most_128_bytes": ("tenant", "repeat('t', 129)"),
    "schedules_kind_is_1_to_128_bytes": ("kind", "''"),
    "schedules_payload_is_at_most_1_mib_and_numbers_below_1e4000": ("payload", "'[1e4000]'"),
    "schedules_payload_is_nested_at_most_500_deep": ("payload", f"'{_DEEP}'"),
    "schedules_headers_are_an_object_of_at_most_4_kib": ("headers", "'[]'"),
    "schedules_headers_are_nested_500_deep_numbers_below_1e4000": ("headers", f"'{_DEEP}'"),
    "schedules_priority_is_between_minus_100_and_100": ("priority", "101"),
    "schedules_max_attempts_is_between_1_and_1000": ("max_attempts", "1001"),
    "schedules_timeout_is_between_1_ms_and_30_days": ("timeout", "'0'"),
    "schedules_expires_in_is_between_1_s_and_365_days": ("expires_in", "'0.5 s'"),
}
BAD_BATCHES = {
    "batches_queue_is_1_to_128_bytes": ("queue", "''"),
    "batches_tenant_is_at_most_128_bytes": ("tenant", "repeat('t', 129)"),
    "batches_kind_is_1_to_128_bytes": ("kind", "''"),
    "batches_payload_is_at_most_64_kib_and_its_numbers_below_1e4000": (
        "payload",
        "jsonb_build_object('p', repeat('x', 65530))",
    ),
    "batches_payload_is_an_object_without_a_member_batch": ("payload", "'{\"batch\": 1}'"),
    "batches_payload_is_nested_at_most_500_deep": ("payload", f"'{_DEEP}'"),
    "batches_headers_are_an_object_of_at_most_4_kib": ("headers", "'[]'"),
    "batches_headers_are_nested_500_deep_numbers_below_1e4000": ("headers", f"'{_DEEP}'"),
    "batches_priority_is_between_minus_100_and_100": ("priority", "-101"),
    "batches_max_attempts_is_between_1_and_1000": ("max_attempts", "0"),
    "batches_timeout_is_between_1_ms_and_30_days": ("timeout", "'0'"),
}
BAD = [
    *(("jobs", name, *bad) for name, bad in BAD_JOBS.items()),
    *(("batches", name, *bad) for name, bad in BAD_BATCHES.items()),
    *(("jobs", *bad) for bad in MORE_BAD_JOBS),
    *(("schedules", name, *bad) for name, bad in BAD_SCHEDULES.items()),
]


def states(connection: Connection[TupleRow]) -> list[str]:
    """Return the state of every job, by id."""
    rows = connection.execute("SELECT state FROM fairlead.job_status ORDER BY id")
    return [str(row[0]) for row in rows]


def test_an_insert_of_a_kind_alone_is_a_job(db: Connection[TupleRow]) -> None:
    """Everything has a default except the kind."""
    db.execute("INSERT INTO fairlead.jobs (kind) VALUES ('send_email')")

    assert ("default", "", "send_email", {}, 0, 20, 0, "pending") == db.execute(
        "SELECT queue, tenant, kind, payload, priority, max_attempts, attempt, state"
        " FROM fairlead.job_status"
    ).fetchone()


def test_many_rows_of_one_insert_are_as_many_jobs(db: Connection[TupleRow]) -> None:
    """Multi-row INSERT returns the ids in order."""
    ids = db.execute(
        "INSERT INTO fairlead.jobs (kind) VALUES ('a'), ('b'), ('c') RETURNING id"
    ).fetchall()

    assert 3 == len(ids)
    assert ids == sorted(ids)
    assert ["pending"] * 3 == states(db)


@pytest.mark.parametrize("form", ["text", "csv", "binary"])
def test_copy_makes_jobs(db: Connection[TupleRow], form: str) -> None:
    """COPY in each of its forms."""
    copy_in = f"COPY fairlead.jobs (kind, tenant) FROM STDIN (FORMAT {form})"
    with db.cursor().copy(copy_in.encode()) as copy:
        if form == "csv":
            copy.write("k,t1\nk,t2\n")
        else:
            copy.set_types(["text", "text"])
            for tenant in ("t1", "t2"):
                copy.write_row(("k", tenant))

    assert ["pending"] * 2 == states(db)


def test_a_job_of_a_transaction_that_rolls_back_never_existed(
    connect: Connect, db: Connection[TupleRow]
) -> None:
    """The job is the application's own write, committed and rolled back with it."""
    application = connect(autocommit=False)
    application.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
    assert [] == states(db)

    application.rollback()

    assert [] == states(db)


def test_a_dedup_key_is_unique_while_its_job_is_unfinished(db: Connection[TupleRow]) -> None:
    """A duplicate returns no row; after the job's end the key is free again."""
    insert = (
        "INSERT INTO fairlead.jobs (queue, tenant, kind, dedup_key)"
        " VALUES (%s, %s, 'k', 'once') ON CONFLICT DO NOTHING RETURNING id"
    )
    first = db.execute(insert, ["q", "t"]).fetchone()

    assert first is not None
    assert db.execute(insert, ["q", "t"]).fetchone() is None
    assert db.execute(insert, ["q", "other tenant"]).fetchone() is not None
    assert db.execute(insert, ["other queue", "t"]).fetchone() is not None
    db.execute("SELECT fairlead.cancel(%s)", first)
    assert db.execute(insert, ["q", "t"]).fetchone() is not None


def test_a_duplicate_without_on_conflict_is_refused_by_name(db: Connection[TupleRow]) -> None:
    """The unique index says which."""
    insert = "INSERT INTO fairlead.jobs (kind, dedup_key) VALUES ('k', 'once')"
    db.execute(insert)

    with pytest.raises(errors.UniqueViolation) as refused:
        db.execute(insert)

    assert "jobs_dedup" == refused.value.diag.constraint_name


def test_an_insert_waits_for_an_open_transaction_with_the_same_key(
    connect: Connect, db: Connection[TupleRow], background: Background
) -> None:
    """Whether it is a duplicate is known when that transaction ends."""
    insert = (
        "INSERT INTO fairlead.jobs (kind, dedup_key) VALUES ('k', 'once')"
        " ON CONFLICT DO NOTHING RETURNING id"
    )
    holder, waiter = connect(autocommit=False), connect()
    holder.execute(insert)

    waiting = background(lambda: waiter.execute(insert).fetchone())
    blocked(db, waiter.info.backend_pid)
    holder.rollback()

    assert waiting.result(10) is not None


def test_a_job_whose_time_has_passed_is_pending_at_once(db: Connection[TupleRow]) -> None:
    """Its due time is kept; only a later one is scheduled."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, run_at) VALUES"
        " ('k', now() - interval '1 day'), ('k', now()), ('k', now() + interval '1 day')"
    )

    assert ["pending", "pending", "scheduled"] == states(db)
    assert [("1 day",), ("00:00:00",), (None,)] == db.execute(
        "SELECT (created_at - due_at)::text FROM fairlead.jobs ORDER BY id"
    ).fetchall()


def test_the_wildest_values_that_pass_can_be_read(db: Connection[TupleRow]) -> None:
    """What stands at a bound is read by a client that knows nothing of it."""
    deep = "[" * 499 + "1" + "]" * 499
    db.execute(
        "INSERT INTO fairlead.jobs (kind, payload, timeout, run_at, expires_at, headers) VALUES"
        " ('k', %s, '1 mon', '9998-12-31 23:59:59.999999+00', '1970-01-01 00:00+00', '{}'),"
        " ('k', %s, '1 ms', '1970-01-01 00:00+00', '9998-12-31 23:59+00', '{\"a\": 1e300}')",
        [deep, f"[{'9' * 3990}, 1e-16000]"],
    )

    rows = db.execute("SELECT * FROM fairlead.job_status ORDER BY id").fetchall()

    assert 2 == len(rows)


@pytest.mark.parametrize(
    ("table", "constraint", "column", "value"),
    BAD,
    ids=[f"{bad[1]}-{n}" for n, bad in enumerate(BAD)],
)
def test_a_bad_value_is_refused_by_a_constraint_whose_name_says_why(
    db: Connection[TupleRow], table: str, constraint: str, column: str, value: str
) -> None:
    """Every bound is a CHECK with a readable name."""
    values = {"kind": "'k'", column: value}
    if table == "schedules":
        values = {"name": "'s'", "cron": "'* * * * *'", **values}
    columns, literals = ", ".join(values), ", ".join(values.values())
    insert = f"INSERT INTO fairlead.{table} ({columns}) VALUES ({literals})"
    with pytest.raises(errors.CheckViolation) as refused:
        db.execute(insert.encode())

    said = refused.value.diag

    assert (constraint, table) == (said.constraint_name, said.table_name)


def test_a_refusal_says_the_field_and_the_value(db: Connection[TupleRow]) -> None:
    """Bad input gets one clear sentence that names the field, the value and the fix."""
    with pytest.raises(errors.CheckViolation) as refused:
        db.execute("INSERT INTO fairlead.jobs (kind, priority) VALUES ('k', 101)")

    said = refused.value.diag
    assert ("priority", "priority is '101'.") == (said.column_name, said.message_detail)
    assert '"jobs_priority_is_between_minus_100_and_100"' in str(said.message_primary)


def test_a_refused_payload_is_not_repeated_in_the_error(db: Connection[TupleRow]) -> None:
    """What a tenant sent does not reach the logs."""
    with pytest.raises(errors.CheckViolation) as refused:
        db.execute(
            "INSERT INTO fairlead.jobs (kind, payload) VALUES ('k', '[\"secret\", 1e4000]')"
        )

    assert "payload is 4013 bytes of JSON." == refused.value.diag.message_detail


def test_a_null_where_none_may_be_is_postgresqls_own_error(db: Connection[TupleRow]) -> None:
    """A bound does not hide it."""
    for column in ("queue", "tenant", "kind", "payload", "priority"):
        columns, values = (
            ("kind", "NULL") if column == "kind" else (f"kind, {column}", "'k', NULL")
        )
        with pytest.raises(errors.NotNullViolation, match=f'"{column}"'):
            db.execute(f"INSERT INTO fairlead.jobs ({columns}) VALUES ({values})".encode())


@pytest.mark.parametrize(
    ("table", "tried"),
    [("jobs", BAD_JOBS), ("batches", BAD_BATCHES), ("schedules", BAD_SCHEDULES)],
)
def test_every_constraint_is_tried_and_says_what_it_wants(
    db: Connection[TupleRow], table: str, tried: dict[str, object]
) -> None:
    """No bound is without a test, and each name reads as a sentence."""
    names = [str(row[0]) for row in db.execute(CHECKS, {"table": f"fairlead.{table}"})]

    assert sorted(tried) == names
    assert [] == [
        name for name in names if not re.fullmatch(rf"{table}_\w+?_(is|are)_\w+", name)
    ]


def test_an_unknown_zone_is_refused_by_postgresql(db: Connection[TupleRow]) -> None:
    """The server's own error names it."""
    with pytest.raises(errors.InvalidParameterValue, match="Mars/Olympus"):
        db.execute(
            "INSERT INTO fairlead.schedules (name, cron, kind, timezone)"
            " VALUES ('s', '* * * * *', 'k', 'Mars/Olympus')"
        )
