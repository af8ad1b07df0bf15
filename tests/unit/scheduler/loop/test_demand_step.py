"""When a pool's need is counted and published, and what is known of its run times."""

from queue import SimpleQueue

from fairlead.policy import parse
from fairlead_scheduler.demand.values import DemandInputs, PoolDemand
from fairlead_scheduler.loop.demand_step import DemandStep
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.ordering.run_time import RunTimeMoments
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.policy.compiled import compile_policy
from fairlead_scheduler.rows import Promoted, QueuedRows

SECOND_US = 1_000_000
SCALED = "pools: [{name: p, queues: ['*'], autoscale: {objective: 30s, max: 8, slots: 5}}]"
PLAIN = "pools: [{name: p, queues: ['*']}]"


def knowing(document: str, jobs: int = 0) -> LeaderState:
    """Return what a leader knows at second 100 of so many jobs of one lane."""
    now_us = 100 * SECOND_US
    known = LeaderState(
        pool="default",
        table=compile_policy(parse(document), stored=1),
        queued=QueuedRows(now_us, [0], [0], None, *([[]] * 7)),
        newest_id=0,
        queued_max=100,
        round_us=1000,
        tail_max=1000,
    )
    known.heads.record_scan()
    known.heads.discovered(
        [PendingJob(job, job, "q", "t", 0, None, now_us) for job in range(1, jobs + 1)]
    )
    known.plan(now_us)
    return known


def demanding() -> tuple[DemandStep, Requests, SimpleQueue[str]]:
    """Return it, what it asks for, and the tasks that it calls."""
    calls = SimpleQueue[str]()
    requests = Requests(calls.put)
    return DemandStep(requests), requests, calls


def published(requests: Requests) -> list[PoolDemand]:
    """Return what is to be published now."""
    return [each for demands in take_all(requests.demands) for each in demands]


def test_a_policy_without_autoscale_asks_for_nothing_but_to_forget_what_was_said() -> None:
    """Pools that do not scale cost nothing; a leader before may have scaled them."""
    loop, requests, calls = demanding()
    known = knowing(PLAIN, jobs=3)

    loop.step(known, 100 * SECOND_US, ())
    assert (frozenset(), ["demand", "demand_inputs"]) == (
        requests.demand_pools,
        take_all(calls),
    )
    loop.step(known, 101 * SECOND_US, ())

    assert ([], []) == (published(requests), take_all(calls))


def test_a_pool_is_counted_once_a_second_and_said_when_it_changes() -> None:
    """What is unchanged is said again after a while: an old row takes no pod away."""
    loop, requests, _ = demanding()
    known = knowing(SCALED, jobs=3)
    said: list[int] = []
    for tenth in range(80):
        now_us = 100 * SECOND_US + tenth * SECOND_US // 10
        if tenth == 15:
            known.heads.discovered([PendingJob(9, 9, "q", "t", 0, None, now_us)])
        loop.step(known, now_us, ())
        said += [tenth] * len(published(requests))

    assert [0, 20, 60] == said


def test_what_begins_to_wait_is_counted_at_once() -> None:
    """When jobs begin to wait, the autoscaler is notified a moment after the last count."""
    loop, requests, _ = demanding()
    known = knowing(SCALED)
    loop.step(known, 100 * SECOND_US, ())
    (nothing,) = published(requests)
    known.heads.discovered([PendingJob(1, 1, "q", "t", 0, None, 100 * SECOND_US)])
    known.plan(100 * SECOND_US)

    loop.step(known, 100 * SECOND_US + 300_000, ())

    (begun,) = published(requests)
    assert (False, True) == (nothing.begins, begun.begins)
    assert (0, 1) == (nothing.slots_useful, begun.slots_useful)


def test_jobs_that_become_runnable_are_counted_by_pools() -> None:
    """Inserted, or fallen due; those of pools that do not scale are not."""
    loop, requests, _ = demanding()
    known = knowing(SCALED.replace("'*'", "q, r"))
    known.runnable = ["q", "q", "other"]
    due = [PendingJob(5, 5, "r", "t", 0, None, 0), PendingJob(6, 6, "other", "t", 0, None, 0)]

    loop.step(known, 100 * SECOND_US, [Promoted(tuple(due))])

    assert [3] == [each.became_runnable_total for each in published(requests)]


def test_what_was_read_counts_in_the_next_count() -> None:
    """A pod's slots, and what falls due by what the queue's jobs take."""
    loop, requests, _ = demanding()
    requests.demand_inputs.put(DemandInputs({"p": 50}, {}, {"q": {20: 10}}))

    loop.step(knowing(SCALED, jobs=100), 100 * SECOND_US, ())

    (said,) = published(requests)
    assert (100, 400) == (said.slots_useful, said.slots_allowed)
    assert (1.0, 1.0, 1.0, 1.0) == said.scheduled_slot_seconds
    assert (100, 10_000) == (
        round(said.service_mean * 1e3),
        round(said.service_variance * 1e6),
    )


def test_pools_that_another_policy_scales_are_requested() -> None:
    """Those who publish forget the others, and begin to read."""
    loop, requests, calls = demanding()
    known = knowing(SCALED)
    loop.step(known, 100 * SECOND_US, ())
    assert frozenset({"p"}) == requests.demand_pools

    known.order.apply(compile_policy(parse(PLAIN), stored=2), 100 * SECOND_US)
    loop.step(known, 101 * SECOND_US, ())

    assert frozenset() == requests.demand_pools
    assert {"demand", "demand_inputs"} == set(take_all(calls))


def test_moments_are_those_of_the_runs() -> None:
    """Jobs of 1 and 3 s: a mean of 2, a variance of 1; what had not started is none."""
    moments = RunTimeMoments()

    moments.add([1 * SECOND_US, 0, 3 * SECOND_US])

    assert (2.0, 2.0, 1.0) == (moments.samples, moments.mean, moments.variance)


def test_moments_forget_the_oldest_runs() -> None:
    """Times change: a thousand new ones leave nothing of those before."""
    moments = RunTimeMoments()
    moments.add([100 * SECOND_US] * 1000)

    moments.add([SECOND_US] * 500)
    half = moments.mean
    moments.add([SECOND_US] * 1000)

    assert (50.5, 1.0, 0.0) == (half, moments.mean, round(moments.variance, 9))


def test_what_schedules_fire_into_the_pool_is_said_by_spans() -> None:
    """By what the queue's jobs take; a span that is over is not ahead any more."""
    loop, requests, _ = demanding()
    requests.set_fires_ahead({"q": {19: 5, 20: 10, 40: 20}, "other": {40: 2}})
    known = knowing(SCALED.replace("'*'", "q"))

    loop.step(known, 101 * SECOND_US, ())

    (said,) = published(requests)
    assert ((100, 10, 1.0), (200, 20, 2.0)) == said.fires
