"""Order tags are numbered anew before they could pass 2^63."""

from collections.abc import Sequence
from datetime import datetime

import pytest

from fairlead import policy_storage
from fairlead_scheduler.loop import store
from fairlead_scheduler.loop.store import LoopStore, renumber
from fairlead_scheduler.ordering.levels.order_tags import TAG_LARGE, TAG_MAX, TAGS_AHEAD_MAX
from fairlead_scheduler.rows import Renumbered
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.logged import Line, logging
from tests.support.race import (
    Database,
    Lease,
    cancel,
    claim,
    claim_one,
    complete,
    dispatch,
    end,
    finish,
    insert,
    insert_one,
    lead,
    places,
    register,
)
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

HUGE = 1 << 61
LIGHT = "{queues: [{match: {queue: default}, weight: 0.001}], fairness: {reserve: null}}"


def queue_at(db: Database, tags: Sequence[int], *, floor: int | None = None) -> tuple[int, ...]:
    """Insert and dispatch a job for each tag, in the claim order of their tags."""
    jobs = insert(db, count=len(tags))
    dispatch(db, jobs, epoch=lead(db))
    for job, tag in zip(jobs, tags, strict=True):
        db.execute("UPDATE fairlead.work_queue SET vtag = %s WHERE job_id = %s", [tag, job])
    db.execute(
        "UPDATE fairlead.claim_floors SET vtag = %s", [min(tags) if floor is None else floor]
    )
    return jobs


def tags_of(db: Database, *jobs: int) -> list[int]:
    """Return the tags of these jobs, of each in turn."""
    rows = db.execute("SELECT job_id, vtag FROM fairlead.work_queue").fetchall()
    found = {int(row[0]): int(row[1]) for row in rows}
    return [found[job] for job in jobs]


def floors(db: Database) -> list[int]:
    """Return all floors."""
    return [int(row[0]) for row in db.execute("SELECT vtag FROM fairlead.claim_floors")]


def seconds_between(earlier: Line, later: Line) -> float:
    """Return how long after one line another was logged."""
    first, second = (
        datetime.fromisoformat(str(line["timestamp"])) for line in (earlier, later)
    )
    return (second - first).total_seconds()


def claim_each(db: Database, worker: int, count: int) -> list[Lease]:
    """Claim jobs one by one."""
    return [claim(db, worker, limit=1)[0] for _ in range(count)]


@pytest.mark.parametrize("first", [HUGE, (1 << 63) - 1000], ids=["large", "full"])
def test_a_take_over_numbers_large_tags_from_0(
    database_url: str, db: Database, first: int
) -> None:
    """Jobs go on in the same order, the new ones behind them, and none is lost."""
    worker = register(db)
    old = queue_at(db, [first + tag for tag in (700, 500, 900, 500, 600)])
    order = [old[1], old[3], old[4], old[0], old[2]]
    running = claim_one_of(db, worker)
    assert running.job == order[0]

    with logging() as logged, scheduling(database_url):
        new = insert(db, count=3)
        until(lambda: {("queued",)} == {places(db, job) for job in new}, what="dispatches")

        assert [0, 0, 100, 200, 400] == tags_of(db, *order)
        assert floors(db) == [0]
        assert [0 <= tag < 1 << 40 for tag in tags_of(db, *new)] == [True] * 3
        assert logged.count("order_tags.renumbered") == 1
        rest = claim_each(db, worker, 7)

    assert order[1:] == [lease.job for lease in rest if lease.job in old]
    assert {*old, *new} == {*finish(db, [running, *rest])}


def claim_one_of(db: Database, worker: int) -> Lease:
    """Claim the first of several jobs."""
    (lease,) = claim(db, worker, limit=1)
    return lease


def test_a_leader_whose_tags_are_large_leads_again_with_small_ones(
    database_url: str, db: Database
) -> None:
    """Its virtual time is that of a job that has run for twenty years under weight .001."""
    policy_storage.store(db, LIGHT, author="test")
    worker = register(db)
    (job,) = queue_at(db, [(TAG_LARGE >> 1) - 1])
    first = claim_one(db, worker)
    db.execute(
        "UPDATE fairlead.work_queue"
        " SET claimed_at = now() - interval '20 years', deadline = now() + interval '1 hour'"
    )

    with logging() as logged, scheduling(database_url):
        epoch = led(db)
        before = insert_one(db)
        until(lambda: places(db, before) == ("queued",), what="a dispatch")
        assert tags_of(db, before)[0] > TAG_LARGE

        led(db, after=epoch)
        after = insert_one(db)
        until(lambda: places(db, after) == ("queued",), what="a dispatch by the next term")
        assert 0 == tags_of(db, before)[0] <= tags_of(db, after)[0] < TAG_LARGE
        assert [before, after] == [lease.job for lease in claim_each(db, worker, 2)]
        lines = [line for line in logged() if str(line["event"]).startswith("leadership")]

    began, ended, began_again = lines
    assert ended["reason"] == "the order tags are to be numbered anew"
    assert (began["epoch"], began_again["epoch"]) == (epoch, epoch + 1)
    assert seconds_between(ended, began_again) < 2  # half of one, and room for a slow machine
    assert (job,) == finish(db, [first])


def test_what_is_renumbered_keeps_its_order_from_0_to_a_distance(db: Database) -> None:
    """Rows below the floor and rows far ahead keep their sides; a repeat changes nothing."""
    jobs = queue_at(
        db,
        [HUGE + 9, HUGE + 7, HUGE - 3, 5, HUGE + 2 * TAGS_AHEAD_MAX],
        floor=HUGE,
    )
    claim(db, register(db), limit=1)

    lowered = renumber(db, epoch=lead(db))

    assert [Renumbered("default", 0, HUGE + 9)] == lowered
    assert [0, 0, 0, 0, TAGS_AHEAD_MAX] == tags_of(db, *jobs)
    assert floors(db) == [0]
    assert renumber(db, epoch=lead(db)) == []


def test_small_tags_stay_as_they_are(db: Database) -> None:
    """One row far ahead is no reason to touch the others."""
    jobs = queue_at(db, [3, HUGE])

    assert renumber(db, epoch=lead(db)) == []
    assert [3, HUGE] == tags_of(db, *jobs)


def test_a_claim_beside_a_renumbering_loses_no_row(db: Database, connect: Connect) -> None:
    """Before it commits its rows are locked; after that they stand on the new floor."""
    jobs, worker = queue_at(db, [HUGE, HUGE + 1]), register(db)
    leader = connect(autocommit=False)
    assert renumber(leader, epoch=lead(leader))
    assert claim(connect(), worker) == ()

    leader.commit()

    assert list(jobs) == [lease.job for lease in claim_each(db, worker, 2)]


def test_a_row_that_was_locked_is_recalled_once_it_waits(
    database_url: str, db: Database, connect: Connect
) -> None:
    """An application held it, and thought better of it: the job is dispatched anew."""
    worker = register(db)
    jobs = queue_at(db, [HUGE, HUGE + 1, HUGE + 2])
    lease = claim_one_of(db, worker)
    application = connect(autocommit=False)
    assert complete(application, lease) == ""
    other = connect(autocommit=False)
    cancel(other, jobs[1])

    with scheduling(database_url):
        until(lambda: floors(db) == [0], what="the renumbering")
        assert [HUGE, HUGE + 1, 1] == tags_of(db, *jobs)
        application.rollback()
        other.rollback()
        assert end(db, lease, "returned") == "queued"

        until(lambda: is_small(db, *jobs[:2]), what="both being dispatched anew")
        again = claim(db, worker)

    assert {*jobs} == {each.job for each in again}


def test_rows_behind_more_than_a_take_over_lowers_are_recalled(
    database_url: str, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement lowers the first; the others are dispatched anew behind them."""
    monkeypatch.setattr(store, "_RENUMBERED_MAX", 2)
    worker = register(db)
    jobs = queue_at(db, [HUGE, HUGE + 1, HUGE + 2, HUGE + 3])

    with scheduling(database_url):
        until(lambda: is_small(db, *jobs), what="all having new tags")

    assert list(jobs) == [lease.job for lease in claim_each(db, worker, 4)]


def is_small(db: Database, *jobs: int) -> bool:
    """Whether these jobs are queued with tags near 0."""
    row = db.execute(
        "SELECT count(*) FROM fairlead.work_queue WHERE job_id = ANY(%s) AND vtag < %s",
        [list(jobs), 1 << 40],
    ).fetchone()
    return row == (len(jobs),)


def test_no_larger_tag_is_written_than_the_largest(database_url: str, db: Database) -> None:
    """Rows beyond it are claimed after all others, in the order of their ids."""
    settings = SchedulerSettings(database_url=database_url)
    leader = LoopStore(db, settings, epoch=lead(db))
    first, second = jobs = insert(db, count=2)

    taken = leader.dispatch([(first, 1 << 80, 1, None), (second, 1 << 70, 1, None)], 1 << 70)

    assert taken == {*jobs}
    assert [TAG_MAX, TAG_MAX] == tags_of(db, *jobs)
    assert floors(db) == [TAG_MAX]
    assert list(jobs) == [lease.job for lease in claim_each(db, register(db), 2)]
