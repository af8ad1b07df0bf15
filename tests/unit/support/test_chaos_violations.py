"""The check of a history finds each thing that may go wrong, and nothing else."""

from pathlib import Path

import pytest

from tests.chaos import app
from tests.chaos.history import (
    Ended,
    Event,
    Found,
    History,
    Resets,
    Violations,
    find_violations,
    slowest_recovery_seconds,
)
from tests.chaos.records import Effect

CLEAN = Violations(lost=(), twice=(), stale=(), unseen=(), usurped=())
ENDED = Ended(1, 6, "succeeded")


def found(
    *ended: Ended, effects: tuple[Effect, ...] | None = None, usurped: tuple[int, ...] = ()
) -> Found:
    """Return what the database says of one job; with effects, it is one that is booked."""
    return Found(
        inserted=(1,),
        ended=ended,
        unfinished=(),
        booked=() if effects is None else (1,),
        effects=effects or (),
        usurped=usurped,
    )


def ran(job: int, token: int, *, finished: bool = True, at: float = 0.0) -> tuple[Event, ...]:
    """Return what an attempt writes down."""
    start = Event("started", job, token, at, pid=100 + token)
    return (start, Event("finished", job, token, at + 1, 100 + token)) if finished else (start,)


def test_a_line_that_its_writer_was_killed_over_hides_no_other(tmp_path: Path) -> None:
    """Half of it may stand at the end of the file, and then before other lines."""
    path, started = tmp_path / "history", app.line("started", job=7, token=8)
    history = History(path)
    path.write_bytes(started + started[:20])
    before = history.events()
    path.write_bytes(started + started[:20] + started)

    found = [len(before), len(history.events()), len(History(path).events())]

    assert [1, 2, 2] == found


def test_each_look_returns_every_event_once(tmp_path: Path) -> None:
    """Wherever the file ended at the one before it, in the middle of a line or behind one."""
    path, line = tmp_path / "history", app.line("started", job=7, token=8)
    history, written = History(path), line * 3
    assert () == history.events()

    for end in range(len(written) + 1):
        path.write_bytes(written[:end])
        assert history.events() == History(path).events()

    assert 3 == len(history.events())


def test_a_job_that_was_cut_short_and_run_again_is_clean() -> None:
    """Only the last attempt ends a job."""
    events = (*ran(1, 5, finished=False), *ran(1, 6))

    assert find_violations(events, found(ENDED)) == CLEAN
    assert find_violations(events, found(ENDED, effects=(Effect(1, 6),))) == CLEAN


@pytest.mark.parametrize(
    ("events", "said", "expected"),
    [
        (ran(1, 6), found(), "lost"),
        (ran(1, 6), found(ENDED, ENDED), "twice"),
        (ran(1, 6), found(ENDED, effects=(Effect(1, 6),) * 2), "twice"),
        ((*ran(1, 6), *ran(1, 7)), found(ENDED), "stale"),
        (ran(1, 6), found(ENDED, effects=(Effect(1, 5),)), "stale"),
        (ran(1, 6), found(Ended(1, 6, "failed"), effects=(Effect(1, 6),)), "stale"),
        (ran(1, 6, finished=False), found(ENDED), "unseen"),
        (ran(1, 6), found(ENDED, effects=()), "unseen"),
        (ran(1, 6), found(ENDED, usurped=(1,)), "usurped"),
    ],
)
def test_each_wrong_is_seen(events: tuple[Event, ...], said: Found, expected: str) -> None:
    """Lost, done twice, ended by an old attempt or leader, ended without having run."""
    violations = find_violations(events, said)

    assert not violations.is_empty
    assert (1,) == getattr(violations, expected)


def test_recovery_is_the_slowest_restart_of_what_the_dead_process_ran() -> None:
    """What had finished before the death needs no recovery."""
    events = (
        *ran(1, 5, at=10.0),
        Event("started", 2, 6, 10.0, 105),
        Event("started", 3, 7, 10.0, 105),
        Event("started", 2, 8, 13.0, 200),
        Event("started", 3, 9, 14.5, 200),
    )

    assert 2.5 == slowest_recovery_seconds(events, pids=[105], died_at=12.0)


def test_recovery_counts_from_the_last_thing_that_failed() -> None:
    """Within a lease and a while of the death or the take-over, whichever is last."""
    events = (*ran(2, 5, finished=False, at=10.0), Event("started", 2, 8, 17.0, 200))

    def slowest(*resets: float, ended: tuple[Ended, ...] = ()) -> float:
        return slowest_recovery_seconds(
            events, pids=[105], died_at=12.0, resets=Resets(resets), ended=ended
        )

    assert [5.0, 5.0, 3.0] == [slowest(11.0), slowest(18.0), slowest(13.0, 14.0, 18.0)]
    assert 0.0 == slowest(ended=(Ended(2, 5, "succeeded"),))


def test_recovery_of_a_recalled_job_counts_from_its_next_dispatch() -> None:
    """What a policy put back waits for its turn like any other job; others do not."""
    events = (*ran(2, 5, finished=False, at=10.0), Event("started", 2, 8, 17.0, 200))

    def slowest(of: dict[int, list[float]]) -> float:
        return slowest_recovery_seconds(events, pids=[105], died_at=12.0, resets=Resets(of=of))

    assert [5.0, 1.0, 5.0] == [slowest({}), slowest({2: [9.0, 16.0]}), slowest({3: [16.0]})]


def test_recovery_is_endless_when_a_job_does_not_start_again() -> None:
    """A job that was cut short and started nowhere else is not recovered."""
    events = ran(2, 5, finished=False, at=10.0)

    assert float("inf") == slowest_recovery_seconds(events, pids=[105], died_at=12.0)
