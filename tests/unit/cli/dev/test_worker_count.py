"""`fairlead dev --workers`: a number, or bounds."""

import pytest
import typer

from fairlead.policy import parse
from fairlead_cli.dev.scaling import of_policy
from fairlead_cli.dev.worker_count import WorkerCount, autoscale_of, size, with_autoscale

KEPT = """
queues:
  - match: {queue: mail}
    weight: 3
pools:
  - name: other
    queues: [mail]
  - name: default
    queues: ["*"]
"""


@pytest.mark.parametrize(
    ("given", "expected", "is_fixed"),
    [
        ("3", WorkerCount(3, 3), True),
        ("0:6", WorkerCount(0, 6), False),
        ("2:2", WorkerCount(2, 2), True),
    ],
)
def test_a_number_stays_and_bounds_are_scaled_between(
    given: str, expected: WorkerCount, *, is_fixed: bool
) -> None:
    """Written as one word."""
    assert expected == size(given)
    assert is_fixed == size(given).is_fixed


@pytest.mark.parametrize("given", ["0", "33", "many", "6:1", "0:0", "1:33", "1:", "-1:3"])
def test_what_is_neither_a_number_nor_bounds_is_refused_by_name(given: str) -> None:
    """The value is in the sentence."""
    with pytest.raises(typer.BadParameter, match=f"'{given}'"):
        size(given)


def test_an_objective_that_is_none_is_refused_before_anything_starts() -> None:
    """By the policy's own sentence."""
    with pytest.raises(typer.BadParameter, match="objective"):
        autoscale_of(WorkerCount(1, 6), objective="soon", slots=10)


@pytest.mark.parametrize("name", ["no", "1e3", "12", "10:30", "~", "0o7", "a: b", "*", ".5"])
def test_a_name_that_looks_like_something_else_stays_a_name(name: str) -> None:
    """What another reader of YAML takes for false or a number, and what ours would."""
    quoted = f'queues: [{{match: {{queue: "{name}"}}, weight: 3}}]'

    written = with_autoscale(quoted, autoscale_of(WorkerCount(1, 6), objective="5s", slots=10))

    assert parse(quoted).queues == parse(written).queues


def test_a_plain_word_is_read_as_the_policy_reads_it() -> None:
    """YAML of an earlier day would have `no` for false."""
    plain = "queues: [{match: {queue: no}, weight: 3}]"

    assert parse(plain).queues == parse(with_autoscale(plain, {"max": 3})).queues


def test_what_the_policy_says_of_the_pools_pods_beside_the_bounds_stays() -> None:
    """An objective that is asked for replaces the one that is there."""
    said = """
pools:
  - name: default
    queues: ["*"]
    autoscale: {objective: 3s, max: 9, drainMax: 30s, stabilization: 7s}
"""
    bounds = autoscale_of(WorkerCount(1, 6), objective=None, slots=10)
    both = autoscale_of(WorkerCount(1, 6), objective="5s", slots=10)

    found = of_policy(parse(with_autoscale(said, bounds)))
    other = of_policy(parse(with_autoscale(said, both)))

    assert found is not None
    assert other is not None
    seconds = (found.objective, found.drain_max, found.stabilization, other.objective)
    assert [3, 30, 7, 5] == [each.total_seconds() for each in seconds]
    assert (1, 6) == (found.min, found.max)


def test_bounds_are_written_beside_what_the_policy_says_of_other_things() -> None:
    """Weights and other pools stay; without any pools the pool gets all queues."""
    said = autoscale_of(WorkerCount(1, 6), objective="5s", slots=10)
    kept, alone = parse(with_autoscale(KEPT, said)), parse(with_autoscale("{}", said))

    found = of_policy(kept)
    assert found == of_policy(alone)
    assert found is not None
    assert (1, 6, 5.0) == (found.min, found.max, found.objective.total_seconds())
    assert parse(KEPT).queues == kept.queues
    assert ["other", "default"] == [pool.name for pool in kept.pools]
    assert ["*"] == [queue for pool in alone.pools for queue in pool.queues]
