"""A worker's login says too much of its own: what services read of it is bounded."""

from json import dumps

import psycopg
import pytest
from psycopg import errors

from tests.support import race
from tests.support.logins import LogIn
from tests.support.race import Database, Lease, rows
from tests.support.worker_logins import queue, register, registration, renewal

_DEEP = "[" * 5000 + "]" * 5000
_SHALLOW = "[" * 499 + '"' + "x" * 1000 + '"' + "]" * 499
_BREAKERS: tuple[tuple[str, object], ...] = (
    ("1", None),
    ('{"kind": "tenant"}', None),
    ('["kind"]', None),
    ('[["kind"]]', None),
    ('[["kind", "tenant", "more"]]', None),
    ('[["kind", 1]]', None),
    ('[["kind", null]]', None),
    (f'[["kind", "{"t" * 70_000}"]]', None),
    (_DEEP, None),
    ("[]", []),
    ('[["kind", "tenant"], ["kind", ""]]', [["kind", "tenant"], ["kind", ""]]),
    (dumps([["kind", "tenant"]] * 101), None),
    (dumps([["k" * 128, "t" * 128]] * 100), [["k" * 128, "t" * 128]] * 100),
)
"""What a renewal says, and what is stored of it."""


@pytest.fixture
def worker(log_in: LogIn) -> Database:
    """Return the session of a worker's login."""
    return log_in("fairlead_worker")


@pytest.fixture
def lease(db: Database, worker: Database) -> Lease:
    """Claim a job with it."""
    queue(db)
    return race.claim_one(worker, register(worker))


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("pool", 128),
        ("pod_uid", 128),
        ("version", 128),
        ("host", 256),
        ("pod_name", 256),
        ("name", 1000),
    ],
)
def test_each_text_of_a_registration_is_short(
    db: Database, worker: Database, field: str, most: int
) -> None:
    """The leader and the autoscaler read those of every live worker in each of their steps."""
    longest = registration(**{field: "x" * most})
    rows(worker, "fairlead_worker.parent", "register", longest)

    with pytest.raises(errors.CheckViolation, match=f"a worker's {field} must be .*bytes"):
        rows(
            worker,
            "fairlead_worker.parent",
            "register",
            {**longest, field: "x" * (most - 1) + "é"},
        )
    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.worker_leases").fetchall()


def test_a_login_has_ten_thousand_live_workers_at_most(
    db: Database, worker: Database, log_in: LogIn
) -> None:
    """Those of other logins do not count, and neither do those whose leases have lapsed."""
    register(worker)
    db.execute(
        "INSERT INTO fairlead.worker_leases (lease_until, slots, name, pool, login)"
        " SELECT lease_until, slots, name, pool, login FROM fairlead.worker_leases"
        " CROSS JOIN generate_series(1, 9998)"
    )
    last = register(worker)
    with pytest.raises(errors.ConfigurationLimitExceeded, match="10,000 live workers"):
        register(worker)

    register(log_in("fairlead_worker"))
    db.execute(
        "UPDATE fairlead.worker_leases SET lease_until = now() - interval '1 s' WHERE id = %s",
        [last],
    )
    register(worker)


@pytest.mark.parametrize(("said", "stored"), _BREAKERS, ids=range(len(_BREAKERS)))
def test_a_lease_is_renewed_whatever_the_crash_breakers_are(
    db: Database, worker: Database, said: str, stored: object
) -> None:
    """What cannot be any counts as none: `fairlead doctor` and `explain` read them."""
    me = register(worker)

    said_so = renewal(me, crash_breakers=said, evictable_kinds=["noop"])
    assert rows(worker, "fairlead_worker.parent", "renew", said_so)

    assert [(stored, ["noop"])] == db.execute(
        "SELECT crash_breakers, evictable_kinds FROM fairlead.worker_leases"
    ).fetchall()


def test_kinds_have_room_for_those_that_there_can_be(db: Database, worker: Database) -> None:
    """The leader reads those that may be evicted for each job that it looks at."""
    me = register(worker)
    most = [f"{number:0128}" for number in range(1000)]
    for kinds in (most, ["x" * 1_000_000]):
        said = renewal(me, evictable_kinds=kinds)
        assert rows(worker, "fairlead_worker.parent", "renew", said)
        (stored,) = db.execute("SELECT evictable_kinds FROM fairlead.worker_leases").fetchall()
        assert ((kinds if kinds is most else None),) == stored

    announced = {"worker": me, "max_attempts": None, "at_most_once": None}
    rows(worker, "fairlead_worker.parent", "announce_kinds", {**announced, "kinds": most})
    with pytest.raises(errors.CheckViolation, match="a kind must be at most 128 bytes"):
        rows(
            worker,
            "fairlead_worker.parent",
            "announce_kinds",
            {**announced, "kinds": ["x" * 3_000_000]},
        )


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        ([str(number) for number in range(101)], "must be a list of at most 100 values"),
        (["x" * 129], "must be at most 128 bytes"),
    ],
)
def test_the_kinds_that_a_worker_limits_are_few(
    worker: Database, kinds: list[str], sentence: str
) -> None:
    """The leader reads the limits of all workers once a second."""
    me = register(worker)
    limited = {"worker": me, "kinds": kinds, "limits": [1] * len(kinds)}

    with pytest.raises(errors.CheckViolation, match=sentence):
        rows(worker, "fairlead_worker.parent", "limit_kinds", limited)


def test_notes_and_errors_are_cut(db: Database, worker: Database, lease: Lease) -> None:
    """Of a program that does not cut them."""
    keys: dict[str, object] = {"ids": [lease.job], "tokens": [lease.token]}
    noted = {**keys, "fractions": [0.5], "notes": ["é" * 1_000_000]}
    rows(worker, "fairlead_worker.attempts", "progress", noted)
    how = {**keys, "ended_as": ["released"], "errors": ["è" * 1_000_000], "delays": [None]}
    rows(worker, "fairlead_worker.attempts", "hand_back", how)

    assert ("é" * 1000, "è" * 4096) == db.execute(
        "SELECT note, last_error FROM fairlead.jobs, fairlead.job_progress"
    ).fetchone()
    assert ("è" * 4096,) == db.execute("SELECT error FROM fairlead.attempt_errors").fetchone()


def test_a_checkpoint_is_bounded(db: Database, worker: Database, lease: Lease) -> None:
    """So that a claim of many jobs stays small; nothing of the batch is stored."""
    keys: dict[str, object] = {"ids": [lease.job], "tokens": [lease.token]}
    values = {**keys, "values": [f'"{"x" * 65_535}"']}

    with pytest.raises(errors.CheckViolation, match="checkpoint is 65,537 bytes of JSON"):
        rows(worker, "fairlead_worker.attempts", "checkpoints", values)

    assert (None,) == db.execute("SELECT checkpoint FROM fairlead.jobs").fetchone()


def test_the_error_of_an_ending_is_cut(db: Database, worker: Database, lease: Lease) -> None:
    """Whether a handler's own connection says it or its worker."""
    worker.execute(
        "SELECT fairlead.fail(%s, %s, repeat('é', 1000000))", [lease.job, lease.token]
    )
    assert ("é" * 4096,) == db.execute("SELECT last_error FROM fairlead.jobs").fetchone()

    queue(db)
    me = db.execute("SELECT max(id) FROM fairlead.worker_leases").fetchall()[0][0]
    again = race.claim_one(worker, me)
    worker.execute(
        "SELECT fairlead.finish(array[%s], array[%s], array['failed'], null,"
        " array[repeat('é', 1000000)])",
        [again.job, again.token],
    )
    assert ("é" * 4096,) == db.execute("SELECT error FROM fairlead.job_history").fetchone()


@pytest.mark.parametrize(
    ("result", "fault"),
    [
        (_DEEP, "is nested more than 500 deep"),
        ('"' + "x" * 1_048_576 + '"', "is 1,048,578 bytes of JSON, more than 1,048,576"),
        ("1e131000", "holds a number of 1e4000 or more"),
        ('{"a": [-1E+4000]}', "holds a number of 1e4000 or more"),
        ("9" * 5000, "holds a number of 1e4000 or more"),
        ('"' + "x" * 1_048_574 + '"', ""),
        (_SHALLOW, ""),
        ('"1e131000"', ""),
    ],
    ids=["deep", "large", "1e131000", "-1E+4000", "digits", "1 MiB", "500 deep", "a text"],
)
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
def test_finish_takes_no_result_that_complete_refuses(
    worker: Database, lease: Lease, result: str, fault: str, *, beside: bool
) -> None:
    """Whoever reads it would need memory and stack for it; the sentence says what it is."""
    results = [*(['{"ok": true}'] if beside else []), result]
    ids, tokens = [lease.job], [lease.token]
    if beside:
        ids, tokens = [0, *ids], [0, *tokens]
    given: list[object] = [ids, tokens, results]
    statement = "SELECT fairlead.finish(%s::bigint[], %s::bigint[], results => %s::text[])"
    completes = "SELECT fairlead.complete(%s, %s, %s::jsonb)"
    if fault:
        with pytest.raises(psycopg.errors.CheckViolation, match=fault) as refused:
            worker.execute(statement, given)
        assert refused.value.diag.constraint_name, "the worker counts it as the job's fault"
        with pytest.raises(psycopg.errors.CheckViolation, match=fault):
            worker.execute(completes, [lease.job, lease.token, result])
    else:
        assert [(lease.token,)] == worker.execute(statement, given).fetchall()
