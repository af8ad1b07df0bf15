"""The attempt table and the cause of a death decide how each attempt ended."""

import signal

import pytest

from fairlead_worker.ipc.attempt_table import (
    ASKED,
    ASYNC,
    BLOCKS,
    CANCELLED,
    PROCESS,
    THREAD,
    AttemptEntry,
)
from fairlead_worker.ipc.interruptions import (
    Cause,
    Died,
    Fenced,
    Interruption,
    Overran,
    Stopped,
    Stuck,
    endings,
    how_it_died,
    overrunners,
    to_blame,
)


def entry(token: int, *, deadline_us: int = 1_000_000, flags: int = THREAD) -> AttemptEntry:
    """Return an attempt of job 10 + token."""
    return AttemptEntry(
        slot=token,
        job_id=10 + token,
        token=token,
        started_us=0,
        deadline_us=deadline_us,
        flags=flags,
    )


def test_an_attempt_overruns_when_its_grace_is_over_too() -> None:
    """A handler that ignores its deadline has the grace before its process is killed."""
    entries = (entry(1, deadline_us=900), entry(2, deadline_us=1_000), entry(3))

    over = overrunners(entries, now_us=1_500, grace_us=500)

    assert (entries[0],) == over


def test_a_handler_in_a_process_of_its_own_is_the_childs_to_end() -> None:
    """The parent kills no child for what the child can end by itself."""
    entries = (entry(1, deadline_us=0, flags=PROCESS), entry(2, deadline_us=0, flags=ASYNC))

    assert (entries[1],) == overrunners(entries, now_us=10, grace_us=0)


def test_who_was_asked_to_stop_and_who_blocks_the_loop_are_to_blame() -> None:
    """Nobody could ask the others, which would have stopped."""
    deaf = entry(1, flags=THREAD | ASKED)
    blocker = entry(2, flags=ASYNC | BLOCKS)
    innocent = entry(3, flags=ASYNC)

    assert (deaf, blocker) == to_blame((deaf, blocker, innocent), (deaf, blocker, innocent))


def test_where_nobody_was_asked_it_is_not_known_who_is_to_blame() -> None:
    """It may be one that is not overdue yet; alone, it is."""
    overdue, other = entry(1, flags=ASYNC), entry(2, flags=ASYNC)

    assert () == to_blame((overdue,), (overdue, other))
    assert (overdue,) == to_blame((overdue,), (overdue,))


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (Died(-9), ("crashed", "crashed")),
        (Died(0), ("crashed", "crashed")),
        (Stuck(5.0), ("crashed", "crashed")),
        (Overran(frozenset({1}), 5.0), ("failed", "released")),
        (Stopped("its worker was stopped"), ("released", "released")),
        (Fenced(), ()),
    ],
)
def test_the_reason_of_a_death_decides_how_its_attempts_end(
    cause: Cause, expected: tuple[str, ...]
) -> None:
    """Only what overran uses an attempt; only an unwanted death is a crash."""
    ended = endings((entry(1), entry(2)), cause)

    assert expected == tuple(each.ended_as for each in ended)


def test_an_ending_names_its_attempt_and_says_what_happened() -> None:
    """The error of a crashed attempt says how its process died."""
    ended = endings((entry(7),), Died(-signal.SIGKILL))

    assert (
        Interruption(17, 7, "crashed", "the process that ran it was killed by SIGKILL"),
    ) == ended


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (THREAD, "timeout: it did not stop within 5 s of its deadline"),
        (THREAD | CANCELLED, "cancelled: it did not stop within 5 s of its cancellation"),
        (ASYNC | BLOCKS, "timeout: it kept the event loop for 5 s after its deadline"),
    ],
)
def test_the_error_of_a_killed_attempt_says_what_it_ignored(flags: int, expected: str) -> None:
    """A cancelled handler that does not stop has not run into its timeout."""
    ended = endings((entry(1, flags=flags),), Overran(frozenset({1}), 5.0))

    assert (f"{expected}, so its process was killed",) == tuple(each.error for each in ended)


@pytest.mark.parametrize(
    ("exit_code", "expected"),
    [
        (3, "exited with code 3"),
        (-11, "was killed by SIGSEGV"),
        (-250, "was killed by signal 250"),
    ],
)
def test_an_exit_code_is_put_in_words(exit_code: int, expected: str) -> None:
    """A signal is named, where it has a name."""
    assert expected == how_it_died(exit_code)
