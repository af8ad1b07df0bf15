"""What a policy that moves queues between pools does: all pools concerned are played."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from fairlead.policy import parse
from fairlead_scheduler.simulation import product
from fairlead_scheduler.simulation.comparison import Comparison, compare
from fairlead_scheduler.simulation.fair import Fair, Waiting
from fairlead_scheduler.simulation.fleet import Played, play
from fairlead_scheduler.simulation.moves import Concerned, Move, concerned
from fairlead_scheduler.simulation.recorded import Recorded
from fairlead_scheduler.simulation.situation import Ended, Situation
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.simulation.traffic import live, played
from fairlead_scheduler.terms import Table, compiled
from fairlead_scheduler.values import QueueRow

MS, SECOND = 1000, 1_000_000
NOW_US = 1_700_000_000 * SECOND


def pools(default: str, gpu: str, more: str = "") -> Table:
    """Return a policy with two pools, the queues of each, and whatever else it says."""
    named = [("default", default), ("gpu", gpu)]
    listed = ", ".join(f"{{name: {name}, queues: [{queues}]}}" for name, queues in named)
    return compiled(parse(f"{{pools: [{listed}]{more}}}"))


TOGETHER = pools("mail, video", "train")
APART = pools("mail", "train, video")
NOWHERE = pools("mail", "train")
QUEUES = ("mail", "video", "train")


def situation(
    new: Table,
    *,
    slots: Mapping[str, int],
    waiting: Mapping[str, int],
    rows: Sequence[QueueRow] = (),
) -> Situation:
    """Return a backlog of jobs of 100 ms under a policy with mail and video in one pool."""
    those = concerned("default", QUEUES, TOGETHER.homes, new.homes)
    return Situation(
        now_us=NOW_US,
        slots=slots["default"],
        beside={pool: slots[pool] for pool in those.pools[1:]},
        concerned=those,
        rows=rows,
        waiting={
            (queue, "", 0): Waiting(jobs, more=False, oldest_us=NOW_US - SECOND)
            for queue, jobs in waiting.items()
        },
        ended=[_lasting(queue, 100 * MS) for queue in QUEUES],
    )


def _lasting(queue: str, cost_us: int) -> Ended:
    return Ended(queue, "", 0, NOW_US - cost_us, NOW_US - cost_us, NOW_US)


def played_out(of: Situation, table: Table, *, seconds: int = 10) -> tuple[Played, ...]:
    """Return what becomes of each job under a policy."""
    fleet = product.fleet(of.slots, tuple(of.beside.values()))
    scene = live(of, fleet, until_us=seconds * SECOND, seed=1)
    jobs = list(scene.jobs)
    order = Fair(
        table,
        pools=scene.pools,
        moves=scene.moves,
        inherited=scene.inherited,
        jobs=jobs,
        draw=scene.draws(),
    )
    return play(jobs, order, fleet, scene.until_us, begun=scene.begun).jobs


def compared(of: Situation, new: Table, *, seconds: int = 10) -> Comparison:
    """Return both policies beside each other."""
    fleet = product.fleet(of.slots, tuple(of.beside.values()))
    scene = live(of, fleet, until_us=seconds * SECOND, seed=1)
    return compare(scene, TOGETHER, new)


def test_where_no_queue_moves_one_pool_is_concerned() -> None:
    """Others may have queues; they have nothing to do with it."""
    alone = concerned("default", QUEUES, TOGETHER.homes, TOGETHER.homes)

    assert Concerned(pools=("default",), queues=frozenset({"mail", "video"})) == alone


def test_a_move_concerns_both_pools_and_all_that_they_serve() -> None:
    """Whoever is in the pool that a queue comes to loses slots to it."""
    both = concerned("default", QUEUES, TOGETHER.homes, APART.homes)

    assert ("default", "gpu") == both.pools
    assert frozenset(QUEUES) == both.queues
    assert (Move("video", "default", "gpu"),) == both.moves


def test_moves_concern_those_that_other_moves_reach() -> None:
    """From pool to pool, and no further."""
    names = ("a", "b", "c", "d", "e")
    old = compiled(parse(f"pools: [{_pools('a', 'b', 'c', 'd', 'e')}]")).homes
    new = compiled(parse(f"pools: [{_pools('x', 'a', 'b', 'e', 'd')}]")).homes

    assert ("p0", "p1", "p2") == concerned("p0", ("a", "b", *names), old, new).pools
    assert ("p3", "p4") == concerned("p3", names, old, new).pools


def _pools(*queues: str) -> str:
    return ", ".join(f"{{name: p{n}, queues: [{queue}]}}" for n, queue in enumerate(queues))


def test_a_queue_that_moves_runs_where_it_moves_to() -> None:
    """It takes the slots of its new pool, and leaves those of the old one to the others."""
    full = situation(
        APART, slots={"default": 6, "gpu": 2}, waiting={"mail": 9000, "video": 9000}
    )

    found = compared(full, APART)

    shares = {each.lanes[0][0]: (each.old.share, each.new.share) for each in found.lanes}
    assert shares["mail"] == pytest.approx((1 / 2, 3 / 4), abs=0.03)
    assert shares["video"] == pytest.approx((1 / 2, 1 / 4), abs=0.03)
    assert found.whole.old.share == pytest.approx(6 / 8, abs=0.03)
    assert found.whole.new.share == pytest.approx(1.0, abs=0.03)


def test_rows_of_a_queue_that_moves_are_taken_back() -> None:
    """What no worker has claimed goes to the new pool; what runs stays where it is."""
    rows = [
        QueueRow(1, "video", "", 10, 100 * MS, NOW_US - 20 * MS, 0, "default"),
        QueueRow(2, "video", "", 20, 100 * MS, None, 0, "default"),
        QueueRow(3, "mail", "", 30, 100 * MS, None, 0, "default"),
    ]
    one = situation(APART, slots={"default": 1, "gpu": 1}, waiting={}, rows=rows)

    found = {
        (job.arrival.queue, job.arrival.at_us, place): job.claimed_us
        for place, job in enumerate(played_out(one, APART))
    }

    assert found["video", 0, 0] == 0
    assert found["video", 0, 1] == product.ROUND_TRIP_US * 2
    assert found["mail", 0, 2] == 80 * MS + product.ROUND_TRIP_US


def test_a_limit_of_a_queue_counts_what_runs_where_it_was() -> None:
    """Two of video may run, and two do, in the pool that it has left."""
    rows = [
        QueueRow(n, "video", "", n, 100 * MS, NOW_US - 99 * MS, 0, "default") for n in (1, 2)
    ]
    limited = pools(
        "mail", "train, video", ", queues: [{match: {queue: video}, slots: {limit: 2}}]"
    )
    both = situation(limited, slots={"default": 2, "gpu": 8}, waiting={"video": 50}, rows=rows)

    jobs = played_out(replace(both, ended=[_lasting("video", 300 * MS)]), limited, seconds=5)

    running = [
        sum(
            job.claimed_us is not None
            and job.claimed_us <= at_us < (job.ended_us or 5 * SECOND)
            for job in jobs
        )
        for at_us in range(0, 4 * SECOND, 10 * MS)
    ]
    assert 2 == max(running)
    assert len([job for job in jobs if job.ended_us]) > 20


def test_a_queue_that_no_pool_serves_waits() -> None:
    """And it is said."""
    left = situation(NOWHERE, slots={"default": 4, "gpu": 4}, waiting={"mail": 40, "video": 40})

    found = compared(left, NOWHERE)

    starts = {each.lanes[0][0]: (each.old.started, each.new.started) for each in found.lanes}
    assert {"mail": (40, 40), "video": (40, 0)} == starts
    assert [
        "no pool serves queue 'video' under the new policy: it waits to the end"
    ] == left.notes


def test_a_pool_without_workers_is_named() -> None:
    """Nobody runs what moves there."""
    none = situation(APART, slots={"default": 4, "gpu": 0}, waiting={"video": 40})

    assert 0 == compared(none, APART).whole.new.started
    assert [
        "queue 'video' moves from pool 'default' to 'gpu'",
        "pool 'gpu' has no live worker: what it serves waits to the end",
    ] == none.notes


def test_recorded_traffic_is_played_in_the_pools_of_each_policy() -> None:
    """A queue that shares one slot with a flood has another pool's for itself."""
    trace = [Arrival(0, "mail", "", 100 * MS) for _ in range(50)]
    trace += [Arrival(0, "video", "", 100 * MS) for _ in range(10)]
    fleet = product.fleet(1, (1,))
    of = situation(APART, slots={"default": 1, "gpu": 1}, waiting={})
    scene = played(Recorded(jobs=trace), fleet, until_us=60 * SECOND, of=of)

    found = compare(scene, TOGETHER, APART)

    video = next(each for each in found.lanes if each.lanes[0][0] == "video")
    assert video.old.p99 is not None
    assert video.new.p99 is not None
    assert video.old.p99.us > 1.8 * SECOND
    assert video.new.p99.us < 1.1 * SECOND
