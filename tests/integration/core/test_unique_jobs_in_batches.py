"""A job that is in a batch replaces another, or is replaced, and each batch counts its own."""

import psycopg
import pytest

import fairlead
from tests.support import race
from tests.support.batches import (
    NOT_JOINED,
    NOTHING,
    ONE,
    OVER,
    completions,
    counted,
    finish,
    make,
    settle,
)
from tests.support.enqueuing import Enqueued, enqueue
from tests.support.race import Database

_NOTES = "SELECT batch, job_id FROM fairlead.batch_jobs ORDER BY place"
_BATCHES = "SELECT id, batch FROM fairlead.jobs ORDER BY id"


@pytest.fixture
def epoch(db: Database) -> int:
    """Return the epoch of a leader."""
    return race.lead(db)


def first(db: Database, **given: object) -> int:
    """Enqueue the first job of the key."""
    job = enqueue(db, **given).id
    assert job is not None
    return job


@pytest.mark.parametrize("queued", [False, True], ids=["pending", "queued"])
def test_a_job_that_is_replaced_counts_as_cancelled_and_the_new_one_joins(
    db: Database, epoch: int, *, queued: bool
) -> None:
    """In the same batch or in another."""
    one, other = make(db, is_open=True), make(db, is_open=True)
    job = first(db, batch=one)
    if queued:
        race.dispatch(db, [job], epoch=epoch)

    same = enqueue(db, replace=True, batch=one).id
    new = enqueue(db, replace=True, batch=other).id

    assert [(one, job), (one, same), (other, new)] == db.execute(_NOTES).fetchall()
    assert [(new, other)] == db.execute(_BATCHES).fetchall()
    settle(db, epoch)
    assert {"cancelled": 2} == counted(db, one)
    assert {} == counted(db, other)


def test_a_batch_waits_for_what_took_the_place_of_its_job(db: Database, epoch: int) -> None:
    """The new one has joined before the old one ended."""
    batch = make(db)
    first(db, batch=batch)
    new = enqueue(db, replace=True, batch=batch).id
    assert new is not None

    assert NOTHING == settle(db, epoch)._replace(more=False)
    finish(db, [new])
    assert ONE == settle(db, epoch)

    assert [{"id": batch, "jobs": 2, "succeeded": 1, "cancelled": 1}] == completions(db)


def test_a_replacement_without_a_batch_is_in_none(db: Database, epoch: int) -> None:
    """The whole job is replaced; the batch of the one before is over."""
    batch = make(db)
    first(db, batch=batch)

    new = enqueue(db, replace=True).id

    assert [(new, None)] == db.execute(_BATCHES).fetchall()
    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 1, "cancelled": 1}] == completions(db)


@pytest.mark.parametrize("names_it", [False, True])
@pytest.mark.parametrize("mode", [{"replace": True}, {"debounce": "1 hour"}])
def test_a_job_that_is_changed_in_place_keeps_its_batch(
    db: Database, mode: dict[str, object], *, names_it: bool
) -> None:
    """It is noted once, whether the call names the batch or none."""
    batch = make(db)
    job = first(db, batch=batch, run_at="2100-01-01Z")

    assert Enqueued(job, "replaced") == enqueue(db, batch=batch if names_it else None, **mode)

    assert [(job, batch)] == db.execute(_BATCHES).fetchall()
    assert [(batch, job)] == db.execute(_NOTES).fetchall()


@pytest.mark.parametrize("in_a_batch", [False, True])
@pytest.mark.parametrize(
    ("mode", "wait"),
    [
        ({"replace": True}, None),
        ({"debounce": "1 hour"}, 3600),
        ({"debounce": "2 hours", "debounce_max": "150 min"}, 5400),
    ],
)
def test_a_job_that_waits_for_its_time_gives_way_to_one_of_another_batch(
    db: Database, epoch: int, mode: dict[str, object], wait: int | None, *, in_a_batch: bool
) -> None:
    """Whether it was due or not, each batch counts what is its own."""
    of = make(db, is_open=True) if in_a_batch else None
    other = make(db)
    job = first(db, batch=of, debounce="1 min")
    db.execute(
        "UPDATE fairlead.jobs SET attempts = 2, created_at = created_at - interval '1 h'"
    )

    new = enqueue(db, batch=other, payload="2", **mode)

    assert new.became == "replaced"
    assert new.id != job
    assert [(new.id, other, "key", 2, 0, wait, wait is None)] == db.execute(
        "SELECT id, batch, dedup_key, payload, attempts,"
        " round(extract(epoch FROM run_at - clock_timestamp()))::integer,"
        " due_at BETWEEN now() - interval '1 min' AND now() IS TRUE FROM fairlead.jobs"
    ).fetchall()
    assert [("cancelled", f"replaced by job {new.id}")] == db.execute(
        "SELECT outcome, error FROM fairlead.job_history"
    ).fetchall()
    settle(db, epoch)
    assert {"cancelled": 1} == (counted(db, of) if of else {"cancelled": 1})
    assert {} == counted(db, other)
    assert ("pending" if wait is None else "scheduled",) == race.places(db, new.id or 0)


def test_a_job_that_is_due_at_once_in_another_batch_goes_to_the_end_of_its_lane(
    db: Database,
) -> None:
    """It had no place there: one that waits for its time draws it when it falls due."""
    first(db, run_at="2100-01-01Z")
    before = race.insert_one(db)

    new = enqueue(db, replace=True, batch=make(db)).id

    assert [(before,), (new,)] == db.execute(
        "SELECT id FROM fairlead.jobs ORDER BY seq"
    ).fetchall()


def test_what_follows_a_job_that_runs_joins_and_that_one_counts_as_it_ends(
    db: Database, epoch: int
) -> None:
    """Here it succeeds."""
    batch = make(db)
    job = first(db, batch=batch)
    race.dispatch(db, [job], epoch=epoch)
    lease = race.claim_one(db, race.register(db))

    found = enqueue(db, replace=True, batch=batch)

    assert "follows" == found.became
    assert found.id is not None
    race.finish(db, [lease])
    finish(db, [found.id], "failed")
    assert ONE == settle(db, epoch)
    assert [{"id": batch, "jobs": 2, "succeeded": 1, "failed": 1}] == completions(db)


def test_a_job_that_is_not_inserted_is_in_no_batch(db: Database) -> None:
    """Its key is in use, or its period is not over."""
    batch = make(db)
    first(db, dedup_key="key")
    job = first(db, dedup_key="once", unique_for="1 hour", batch=batch)
    finish(db, [job])

    assert "duplicate" == enqueue(db, batch=batch).became
    assert "duplicate" == enqueue(db, dedup_key="once", unique_for="1 hour", batch=batch).became

    assert [(batch, job)] == db.execute(_NOTES).fetchall()


@pytest.mark.parametrize(
    "mode", [{}, {"replace": True}, {"debounce": "1 s"}, {"unique_for": "1 hour"}]
)
def test_a_batch_that_is_over_refuses(
    db: Database, epoch: int, mode: dict[str, object]
) -> None:
    """As it does an INSERT; what would have been replaced is there."""
    batch = make(db)
    assert ONE == settle(db, epoch)
    job = first(db)
    given = {"dedup_key": "key" if "replace" in mode else "new", "batch": batch, **mode}

    with pytest.raises(psycopg.Error, match=f"batch {batch} is over") as refused:
        enqueue(db, **given)

    assert NOT_JOINED == refused.value.sqlstate
    assert ("pending",) == race.places(db, job)


def test_many_that_replace_others_are_a_batch(db: Database, epoch: int) -> None:
    """Those that have keys and those that have none, with one completion."""
    old = fairlead.enqueue(db, "k", dedup_key="a")
    jobs = [
        fairlead.NewJob(kind="k", dedup_key="a", replace=True),
        fairlead.NewJob(kind="k", dedup_key="b", debounce=3600),
        fairlead.NewJob(kind="k", dedup_key="c", unique_for=3600),
        fairlead.NewJob(kind="k"),
    ]

    inserted = fairlead.enqueue_many(db, jobs, then=fairlead.NewJob(kind=OVER))

    assert 4 == len({*inserted} - {old})
    finish(db, inserted)
    assert ONE == settle(db, epoch)
    assert [4] == [each["jobs"] for each in completions(db)]


def test_many_of_which_one_waits_in_another_batch_are_a_batch(db: Database, epoch: int) -> None:
    """Whether the job of a key is due does not decide whether they are accepted."""
    job = fairlead.enqueue(db, "k", dedup_key="a", debounce=3600)
    jobs = [fairlead.NewJob(kind="k", dedup_key=key, debounce=3600) for key in "ab"]

    inserted = fairlead.enqueue_many(db, jobs, then=fairlead.NewJob(kind=OVER))

    assert job not in inserted
    finish(db, inserted)
    assert ONE == settle(db, epoch)
    assert [2] == [each["jobs"] for each in completions(db)]


def test_one_job_is_given_its_batch_from_python(db: Database) -> None:
    """As a task says it, too."""
    batch = make(db)

    job = fairlead.enqueue(db, "k", dedup_key="a", debounce=3600, batch=batch)

    assert job == fairlead.enqueue(db, "k", dedup_key="a", debounce=3600)
    assert [(job, batch)] == db.execute(_BATCHES).fetchall()
