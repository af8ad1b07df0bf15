"""The verdict over a history sees each thing that may go wrong, and nothing else."""

import pytest

from tests.chaos.history import Ended, Event, Verdict, judge, slowest_recovery_seconds

CLEAN = Verdict(lost=(), twice=(), stale=(), unseen=())


def ran(job: int, token: int, *, finished: bool = True, at: float = 0.0) -> tuple[Event, ...]:
    """Return what an attempt writes down."""
    start = Event("started", job, token, at, pid=100 + token)
    return (start, Event("finished", job, token, at + 1, 100 + token)) if finished else (start,)


def test_a_job_that_was_cut_short_and_run_again_is_clean() -> None:
    """Only the last attempt ends a job."""
    events = (*ran(1, 5, finished=False), *ran(1, 6))

    assert judge(events, inserted=[1], ended=[Ended(1, 6, "succeeded")], unfinished=[]) == CLEAN


@pytest.mark.parametrize(
    ("events", "ended", "expected"),
    [
        (ran(1, 5), (), "lost"),
        (ran(1, 5), (Ended(1, 5, "succeeded"),) * 2, "twice"),
        ((*ran(1, 5), *ran(1, 6)), (Ended(1, 5, "succeeded"),), "stale"),
        (ran(1, 5, finished=False), (Ended(1, 5, "succeeded"),), "unseen"),
    ],
)
def test_each_wrong_is_seen(
    events: tuple[Event, ...], ended: tuple[Ended, ...], expected: str
) -> None:
    """Lost, ended twice, ended by an old attempt, ended without having run."""
    verdict = judge(events, inserted=[1], ended=ended, unfinished=[])

    assert not verdict.clean
    assert (1,) == getattr(verdict, expected)


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
