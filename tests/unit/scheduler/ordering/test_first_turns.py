"""First turns of newcomers: at a rate by weight, half of it for those with several jobs."""

import pytest

from fairlead_scheduler.ordering.levels.first_turns import Beside, FirstTurns

MS = 1000


def beside(*, now: int = 0, known: float = 2.0, usual: float = 1.0) -> Beside:
    """Return what competes: jobs take 100 ms."""
    return Beside(now=now, known_weight=known, usual_weight=usual, job_us=100.0 * MS)


def later(weight: float, others: Beside) -> float:
    """Return how far apart first turns are, in jobs of 100 ms of weight 1."""
    turns = FirstTurns()
    tags = [turns.take(weight, others, has_several=False) for _ in range(2)]
    return (tags[1] - tags[0]) / (100 * MS)


@pytest.mark.parametrize(
    ("weight", "known", "usual", "apart"),
    [
        pytest.param(1.0, 2.0, 1.0, 2, id="one of few: the share of one"),
        pytest.param(1.0, 300.0, 1.0, 0.04, id="beside many: a seventh of the slots"),
        pytest.param(0.001, 2.0, 1.0, 2000, id="a light one: its own share"),
        pytest.param(0.1, 300.0, 1.0, 0.4, id="light ones beside many: a tenth of that"),
        pytest.param(1.0, 1010.0, 990.0, 2, id="beside a heavy one: its own share"),
        pytest.param(50.0, 2.0, 1.0, 0.04, id="a heavy one: its own share"),
    ],
)
def test_newcomers_have_first_turns_by_their_weight(
    weight: float, known: float, usual: float, apart: float
) -> None:
    """Half of their rate: the other half is for those with several jobs."""
    others = beside(known=known, usual=usual)

    assert later(weight, others) == pytest.approx(apart, rel=1e-3)


def test_those_with_several_jobs_may_have_either_half() -> None:
    """Single jobs may have one half only, however many names they have."""
    turns = FirstTurns()
    for _ in range(100):
        turns.take(1.0, beside(), has_several=False)

    tags = [turns.take(1.0, beside(), has_several=True) for _ in range(9)]

    assert max(tags[:8]) <= 0 < tags[8]


def test_first_turns_count_as_long_as_first_jobs_are() -> None:
    """Names whose jobs are longer than others' are let in as much more slowly."""
    turns = FirstTurns()
    turns.learn(400 * 1000 * MS, 400, 1000)

    first = turns.take(1.0, beside(), has_several=False)
    assert turns.take(1.0, beside(), has_several=False) - first == pytest.approx(
        2 * 1000 * MS, rel=0.01
    )


def test_promises_end_with_the_last_that_waits() -> None:
    """While nobody else wanted the slots newcomers had their turns early."""
    turns = FirstTurns()
    for _ in range(100):
        turns.take(1.0, beside(), has_several=False)
    turns.waiting = 2

    turns.had(beside(now=0))
    assert turns.take(1.0, beside(), has_several=False) > 10_000 * MS
    turns.had(beside(now=0))
    assert turns.take(1.0, beside(), has_several=False) == 200 * MS
