"""A claim is bounded by the bytes of what it answers: none is larger than a worker."""

import pytest

from tests.support.race import Database, claim, dispatch, insert, leading, register

MIB = 1024 * 1024
_LARGE = {
    "of one letter": "to_jsonb(repeat('x', 1048000))",
    "of random letters": "to_jsonb((SELECT string_agg(md5(random()::text), '') FROM"
    " generate_series(1, 32750) WHERE i > 0))",
    "of large numbers": "(SELECT jsonb_agg('1e3999'::jsonb) FROM"
    " generate_series(1, 261) WHERE i > 0)",
    "of small numbers": "(SELECT jsonb_agg('1e-16383'::jsonb) FROM"
    " generate_series(1, 63) WHERE i > 0)",
}
_LARGER = _LARGE["of random letters"].replace("32750", "655000")
_INSERT = """
    INSERT INTO fairlead.jobs (kind, payload, headers)
    SELECT 'large', {}, {} FROM generate_series(1, %s) i RETURNING id
"""


def queue(db: Database, payload: str, count: int, *, headers: str = "NULL::jsonb") -> None:
    """Insert jobs with a payload and dispatch them."""
    inserted = db.execute(_INSERT.format(payload, headers).encode(), [count])
    ids = [row[0] for row in inserted.fetchall()]
    assert count == len(dispatch(db, ids, epoch=leading(db)))


def claimed_bytes(db: Database, worker: int, jobs_max: int) -> list[tuple[int, int]]:
    """Claim, and return each job with the bytes of its payload and headers."""
    rows = db.execute(
        "SELECT job_id, octet_length(payload) + coalesce(octet_length(headers), 0)"
        " FROM fairlead.claim(%s, %s)",
        [worker, jobs_max],
    )
    return [(int(job), int(size)) for job, size in rows.fetchall()]


@pytest.mark.parametrize("payload", _LARGE.values(), ids=_LARGE.keys())
def test_a_claim_of_large_payloads_is_of_16_mib_at_most(db: Database, payload: str) -> None:
    """However well they compress; what it leaves is claimed next, in its order."""
    queue(db, payload, 40)
    worker = register(db)

    claims = [claimed_bytes(db, worker, 500) for _ in range(3)]

    assert all(len(each) >= 8 for each in claims)
    assert all(sum(size for _, size in each) <= 16 * MIB for each in claims)
    jobs = [job for each in claims for job, _ in each]
    assert 40 == len(jobs)
    assert sorted(jobs) == jobs


def test_headers_count_as_payloads_do(db: Database) -> None:
    """They are answered beside them: 15 MB of the one and 4 MB of the other."""
    headers = "jsonb_build_object('trace', repeat('x', 8000))"
    queue(db, "to_jsonb(repeat('x', 30000))", 500, headers=headers)
    worker = register(db)

    claims = [claimed_bytes(db, worker, 500) for _ in range(2)]

    assert 500 == sum(len(each) for each in claims)
    assert all(sum(size for _, size in each) <= 16 * MIB for each in claims)


def test_checkpoints_count_as_payloads_do(db: Database) -> None:
    """They are answered beside them: 20 MB of those alone."""
    queue(db, "to_jsonb('x'::text)", 400)
    db.execute("UPDATE fairlead.jobs SET checkpoint = to_jsonb(repeat('x', 50000))::text")
    worker = register(db)

    claims = [len(claim(db, worker, limit=500)) for _ in range(2)]

    assert [16 * MIB // 50_005, 400 - 16 * MIB // 50_005] == claims


def test_a_claim_is_of_one_job_whatever_its_size(db: Database) -> None:
    """One that was stored without the bounds of an INSERT stops nobody."""
    db.execute("SET session_replication_role = replica")
    queue(db, _LARGER, 2)
    db.execute("SET session_replication_role = origin")
    worker = register(db)

    sizes = [[size for _, size in claimed_bytes(db, worker, 500)] for _ in range(2)]

    assert [[20_960_002], [20_960_002]] == sizes


def test_a_claim_of_payloads_of_usual_size_is_not_cut(db: Database) -> None:
    """Neither of short ones, nor of some that their table compresses."""
    queue(db, "to_jsonb('x'::text)", 500)
    queue(db, "jsonb_build_object('text', repeat('a line of a log, ' || i, 150))", 100)
    worker = register(db)

    assert [500, 100] == [len(claim(db, worker, limit=500)) for _ in range(2)]


def test_a_job_that_is_gone_counts_nothing(db: Database) -> None:
    """Its row is claimed with the others."""
    jobs = insert(db, count=3)
    assert jobs == dispatch(db, jobs, epoch=leading(db))
    db.execute("DELETE FROM fairlead.jobs WHERE id = %s", [jobs[0]])

    assert jobs == tuple(lease.job for lease in claim(db, register(db), limit=3))
