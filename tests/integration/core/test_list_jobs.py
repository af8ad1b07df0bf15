"""What lists of jobs find of a tenant, a queue, a state and a time, and what they leave out."""

from collections.abc import Iterator
from itertools import product

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support.databases import cloned_database
from tests.support.statements import explained

_LOOKED_MAX = 18_000
_JOBS = 40_000
_FILL = (
    # Old ones of a tenant that has few, and of one that has many; then everybody else's.
    """
    INSERT INTO fairlead.jobs (queue, tenant, kind, priority, run_at, created_at)
    SELECT CASE WHEN i % 3 = 0 THEN 'mail' ELSE 'default' END, 'few', 'k' || i % 2, i % 2,
           CASE WHEN i % 4 = 0 THEN now() + interval '1 d' END, timestamptz '2026-01-01Z'
    FROM generate_series(1, 12) i
    """,
    """
    INSERT INTO fairlead.jobs (queue, tenant, kind, created_at)
    SELECT 'bulk', 'many', 'k' || i % 7, timestamptz '2026-01-01Z'
    FROM generate_series(1, 9000) i
    """,
    f"""
    INSERT INTO fairlead.jobs (queue, tenant, kind, created_at)
    SELECT 'default', 't' || i % 1000, CASE WHEN i = 5 THEN 'rare' ELSE 'k' END,
           timestamptz '2026-01-02Z' + i * interval '1 s'
    FROM generate_series(1, {_JOBS}) i
    """,
    f"""
    INSERT INTO fairlead.job_history (
        id, created_at, finished_at, attempt, max_attempts, crashes, losses, priority, outcome,
        queue, tenant, kind)
    SELECT 1000000 + i, timestamptz '2026-01-03Z' + i * interval '1 s', now(), 1, 1, 0, 0, 0,
           CASE WHEN i % 2 = 0 OR i = 11 THEN 'failed' WHEN i = 13 THEN 'cancelled'
                ELSE 'succeeded' END,
           'default', CASE WHEN i < 14 THEN 'few' ELSE 't' || i % 1000 END, 'k' || i % 7
    FROM generate_series(1, {_JOBS}) i
    """,
    """
    CREATE TABLE known AS
    SELECT id, state, queue, tenant, kind, created_at FROM fairlead.job_status
    """,
)
_EXACT = {
    "": "true",
    "of_tenant => 'few', in_state => 'failed'": "tenant = 'few' AND state = 'failed'",
    "of_tenant => 'few', in_state => 'cancelled'": "tenant = 'few' AND state = 'cancelled'",
    "of_tenant => 'few', in_state => 'pending'": "tenant = 'few' AND state = 'pending'",
    "of_tenant => 'few', in_state => 'scheduled'": "tenant = 'few' AND state = 'scheduled'",
    "'mail', 'few', 'k1', 'pending'": (
        "queue = 'mail' AND tenant = 'few' AND kind = 'k1' AND state = 'pending'"
    ),
    "of_queue => 'mail', in_state => 'pending'": "queue = 'mail' AND state = 'pending'",
    "of_queue => 'mail', in_state => 'scheduled'": "queue = 'mail' AND state = 'scheduled'",
    "in_state => 'scheduled'": "state = 'scheduled'",
    "of_tenant => 'many', in_state => 'pending'": "tenant = 'many'",
    "of_tenant => 'nobody', in_state => 'pending'": "false",
    "of_tenant => 't8'": "tenant = 't8'",
}
_FROM, _TO = "timestamptz '2026-01-02 05:00Z'", "timestamptz '2026-01-02 06:00Z'"
_ENDED_FROM, _ENDED_TO = (
    "timestamptz '2026-01-03 05:00Z'",
    "timestamptz '2026-01-03 06:00Z'",
)


@pytest.fixture(scope="module", params=["empty", "full"])
def full(server: Server, request: pytest.FixtureRequest) -> Iterator[Connection[TupleRow]]:
    """Yield a session on much, analysed while there was nothing or now."""
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE" if request.param == "empty" else "SELECT")
        for statement in _FILL:
            connection.execute(statement.encode())
        connection.execute("ANALYZE" if request.param == "full" else "SELECT")
        yield connection


def ids(connection: Connection[TupleRow], arguments: str) -> list[int]:
    """Return the ids of a list."""
    called = f"SELECT id FROM fairlead.list_jobs({arguments})"
    return [int(row[0]) for row in connection.execute(called.encode())]


def known(connection: Connection[TupleRow], condition: str, limit: int = 20) -> list[int]:
    """Return what a list should have, of what `job_status` has."""
    read = f"SELECT id FROM known WHERE {condition} ORDER BY id DESC LIMIT {limit}"
    return [int(row[0]) for row in connection.execute(read.encode())]


@pytest.mark.parametrize("arguments", _EXACT, ids=str)
def test_a_list_has_the_newest_that_are_like_that_however_many_are_newer(
    full: Connection[TupleRow], arguments: str
) -> None:
    """Of a tenant, a short queue and a state, where the newest jobs of all are others'."""
    assert known(full, _EXACT[arguments]) == ids(full, arguments)


def test_pages_follow_each_other(full: Connection[TupleRow]) -> None:
    """The last id of a page gives the next one."""
    first = ids(full, "of_tenant => 't8', jobs_max => 15")
    second = ids(full, f"of_tenant => 't8', jobs_max => 15, before_id => {first[-1]}")

    assert known(full, "tenant = 't8'", 30) == first + second


@pytest.mark.parametrize(
    ("state", "since", "until"),
    [
        ("pending", _FROM, _TO),
        ("failed", _ENDED_FROM, _ENDED_TO),
        ("succeeded", _ENDED_FROM, _ENDED_TO),
    ],
)
def test_a_list_begins_and_ends_at_an_instant(
    full: Connection[TupleRow], state: str, since: str, until: str
) -> None:
    """Of jobs in the order of their INSERTs it finds the place by halves."""
    between = f"created_at BETWEEN {since} AND {until} AND state = '{state}'"
    asked = f"in_state => '{state}', since => {since}, until => {until}"

    assert known(full, between) == ids(full, asked)
    assert known(full, f"{between} AND tenant = 't7'") == ids(
        full, f"{asked}, of_tenant => 't7'"
    )
    assert [] == ids(full, f"in_state => '{state}', since => {until}, until => {since}")


def test_what_was_not_looked_at_is_said(full: Connection[TupleRow]) -> None:
    """A kind has no index: each list goes on where the one before has stopped."""
    said: list[str] = []
    full.add_notice_handler(
        lambda notice: said.append(f"{notice.message_primary}. {notice.message_hint}")
    )
    pages: list[list[int]] = []
    before = "null"
    while before:
        said.clear()
        asked = f"of_kind => 'rare', in_state => 'pending', before_id => {before}"
        pages.append(ids(full, asked))
        before = said[0].rpartition("=> ")[2].rstrip(".") if said else ""
        assert all(
            each.startswith(
                "fairlead: looked at the newest 18,000 of the jobs that are unfinished, and "
                "there are older ones. For older ones give before_id => "
            )
            for each in said
        )

    assert [[], [], known(full, "kind = 'rare'")] == pages
    ids(full, "of_tenant => 'few'")
    assert "6,000 of the jobs that have succeeded, and" in said[0]
    said.clear()
    ids(full, "of_tenant => 'few', in_state => 'failed'")
    ids(full, "of_queue => 'mail', in_state => 'pending'")
    assert [] == said


def test_whatever_is_asked_for_a_list_reads_a_bounded_number_of_pages(
    full: Connection[TupleRow],
) -> None:
    """A page for each row that it looks at, at most, and some for the indexes."""
    read: dict[str, int] = {}
    for each in product(
        ("null", "'default'", "'none'"),
        ("null", "'few'", "'many'"),
        ("null", "'none'"),
        ("null", "'pending'", "'scheduled'", "'running'", "'succeeded'", "'failed'"),
    ):
        asked = ", ".join(each)
        call = f"SELECT * FROM fairlead._list_jobs({asked}, 50, null, null, null)"
        plan = explained(full, call, "ANALYZE, BUFFERS, FORMAT JSON")
        hit, missed = plan["Shared Hit Blocks"], plan["Shared Read Blocks"]
        read[asked] = int(str(hit)) + int(str(missed))

    assert {} == {asked: pages for asked, pages in read.items() if pages > 2 * _LOOKED_MAX}
