"""Queues that move between pools: no job is lost or dispatched twice, no limit is exceeded."""

from collections import Counter
from typing import cast

from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.pools import Fleets

QUEUES, POOLS = ("a", "b", "c"), ("x", "y", "z")
LIMIT = 4
_LIMITS = f"queues: [{{match: {{queue: b}}, slots: {{limit: {LIMIT}}}}}]"
_MOVES = st.tuples(*(st.sampled_from((*POOLS, None)) for _ in QUEUES))
_STEPS = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(QUEUES), st.integers(1, 6)),
    st.tuples(st.just("claim"), st.sampled_from(POOLS), st.integers(1, 4)),
    st.tuples(st.just("end"), st.integers(0, 9), st.integers(1, 4)),
    st.tuples(st.just("return"), st.integers(0, 9), st.integers(1, 2)),
    st.tuples(st.just("move"), _MOVES, st.booleans()),
    st.tuples(st.just("recall"), st.none(), st.none()),
    st.tuples(st.just("lead"), st.none(), st.none()),
)


def document(assigned: tuple[str | None, ...]) -> str:
    """Return a policy under which each queue belongs to its pool, or to none."""
    served: dict[str, list[str]] = {}
    for queue, pool in zip(QUEUES, assigned, strict=True):
        if pool is not None:
            served.setdefault(pool, []).append(queue)
    pools = [f"{{name: {pool}, queues: {queues}}}" for pool, queues in served.items()]
    return f"pools: [{', '.join(pools) or '{name: x, queues: [other]}'}]\n{_LIMITS}"


def play(fleets: Fleets, kind: str, first: object, second: object) -> None:
    """Do one step."""
    match kind, first, second:
        case "add", str(queue), int(count):
            fleets.add(queue, count)
        case "claim", str(pool), int(count):
            fleets.claim(pool, count)
        case "end", int(begin), int(count):
            fleets.end(fleets.running[begin : begin + count])
        case "return", int(begin), int(count):
            fleets.give_back(fleets.running[begin : begin + count])
        case "move", tuple(), _:
            fleets.apply(document(cast("tuple[str | None, ...]", first)))
        case "recall", _, _:
            fleets.recall()
        case _:
            fleets.fail_over()


@example([*[("add", "a", 1)] * 6, ("move", ("z", "x", "x"), False), ("lead", None, None)])
@given(st.lists(_STEPS, max_size=40))
def test_jobs_of_queues_that_move_are_dispatched_once_and_all_of_them(
    steps: list[tuple[str, object, object]],
) -> None:
    """Whatever happens, and into the pool that serves their queue then."""
    fleets = Fleets(document(("x", "y", None)), dict.fromkeys(POOLS, 3), depth=5)
    for kind, first, second in steps:
        play(fleets, kind, first, second)
        for pool, jobs in fleets.plan().items():
            assert {pool} == {fleets.order.pool_name_of(fleets.queues[job]) for job in jobs}
        in_flight = Counter(fleets.queues[job] for job in fleets.work)
        assert LIMIT >= in_flight["b"]

    fleets.apply(document(("z", "z", "x")))
    for _ in range(10 * len(steps) + 10):
        fleets.recall()
        fleets.plan()
        for pool in POOLS:
            fleets.end(fleets.claim(pool, 100))
        fleets.end(list(fleets.running))

    assert sorted(fleets.queues) == sorted(fleets.ended)
