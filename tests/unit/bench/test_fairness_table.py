"""The one table: which figure is evaluated, and the summary of several runs."""

import pytest

from bench.fairness.arguments import own, row_name
from bench.fairness.results.record import targets
from bench.fairness.results.report import Run
from bench.fairness.results.table import Row, interval
from bench.fairness.traffic.workload import Target, load
from tests.support.outcomes import MACHINE, outcome


def row(target: Target, *, simulated: tuple[float, ...] = (), real: tuple[float, ...]) -> Row:
    """Return a row about one figure."""
    return Row(name="X", title="", figure="x", target=target, simulated=simulated, real=real)


@pytest.mark.parametrize(
    ("simulated", "real", "result"),
    [
        ((), (), "not measured"),
        ((1.0,), (), "met"),
        ((3.0,), (), "missed"),
        ((1.0,), (3.0,), "missed"),
        ((3.0,), (1.0,), "met"),
        ((), (1.0, 1.0, 3.0), "met, not in each run"),
        ((), (1.0, 3.0, 3.0), "missed"),
    ],
)
def test_what_postgresql_showed_is_judged_where_there_is_any(
    simulated: tuple[float, ...], real: tuple[float, ...], result: str
) -> None:
    """By the median of the runs; a run that misses is shown."""
    assert result == row(Target(at_most=2), simulated=simulated, real=real).result


def test_the_worst_run_is_on_the_wrong_side() -> None:
    """The highest under a bound from above, the lowest over one from below."""
    assert 3.0 == row(Target(at_most=2), real=(1.0, 3.0, 2.0)).worst
    assert 1.0 == row(Target(at_least=2), real=(1.0, 3.0, 2.0)).worst


def test_a_missed_row_says_why() -> None:
    """In the words given with its target, and only where it is missed."""
    target = Target(at_most=2, missed_because="It is slow.")

    assert "It is slow." == row(target, real=(3.0,)).why
    assert "" == row(target, real=(1.0,)).why
    assert "No reason is recorded." == row(Target(at_most=2), real=(3.0,)).why


def test_the_interval_is_students() -> None:
    """Five runs: 2.776 standard errors to both sides; one run has no interval."""
    found = interval([1.0, 2.0, 3.0, 4.0, 5.0])

    assert found is not None
    assert pytest.approx((3 - 2.776 * 0.5**0.5, 3 + 2.776 * 0.5**0.5)) == found
    assert interval([1.0]) is None


def test_every_row_of_the_protocol_is_played_in_the_quick_form() -> None:
    """With at least one target each."""
    quick = {row_name(path): load(path) for path in own() if "quick" in load(path).forms}

    wanted = {"W1", "W3", "W4", "W5", "W7", "W8", "W9", "W10", "W11", "W12", "W15"}
    assert wanted <= {name for name, workload in quick.items() if workload.targets}


def test_the_page_gets_one_table_with_the_conditions() -> None:
    """Target, simulated, on PostgreSQL, result, and why a row is missed."""
    run = Run(form="quick", seeds=(1,), machine=MACHINE, seconds=60, postgres="18.3")

    text = "\n".join(targets([[outcome(simulated=0.1, real=0.7)]], run))

    assert "seed 1, commit abc, 2026-01-01" in text
    assert "| X | small | quiet p99 | ≤ 0.5 | 0.100 s | 0.700 s | **missed**: Slow. |" in text


def test_a_run_of_several_seeds_shows_their_spread() -> None:
    """Median, worst, and where the mean lies."""
    run = Run(form="full", seeds=(1, 2, 3), machine=MACHINE, seconds=60, postgres="18.3")
    outcomes = [outcome(simulated=0.1, real=real) for real in (0.3, 0.1, 0.2)]

    text = "\n".join(targets([outcomes], run))

    assert "| 0.100 s | 0.200 s | 0.300 s | -0.048 s to 0.448 s | met |" in text
