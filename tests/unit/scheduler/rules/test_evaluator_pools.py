"""What rules ask of workers is said of those of the lane's pool."""

from collections.abc import Mapping
from time import thread_time

import pytest

from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from tests.support.pools import Fleets
from tests.support.ruled import of_job

SLOTS = {"default": 4, "gpu": 8}
POOLS = 'pools: [{name: gpu, queues: [video]}, {name: default, queues: ["mail*"]}]'
RULE = "\nrules: [{name: full, when: %s, hold: true}]"
FACTS = of_job("k")
NO_LANE = "workers.free < 4"
BY_LANE = "workers.free < 4 && lane.tenant != 'x'"
BY_JOB = "workers.free < 4 && job.kind != 'x'"


class Looks:
    """A leader over two pools who looks at the rules before each plan, and knows some lanes."""

    def __init__(self, document: str, *queues: str) -> None:
        self.fleets = Fleets(document, SLOTS)
        self.metrics = Metrics()
        self._seconds = 100.0
        clocks = EvaluationClocks(lambda: self._seconds, thread_time)
        self._evaluator = RuleEvaluator(self.metrics.policy.rules, lambda _: None, clocks)
        known = [job for queue in queues for job in self.fleets.add(queue, 1)]
        self.plan(SLOTS)
        self.fleets.claim("gpu", 1)
        self.fleets.claim("default", 1)
        self.fleets.end({*known} & {*self.fleets.running})
        for queue in queues:
            self.fleets.add(queue, 1)

    def plan(self, free: Mapping[str, int]) -> set[str]:
        """Look and plan with so many free slots; return the pools that got something."""
        order = self.fleets.order

        def fleet(pool: str | None) -> Workers:
            return Workers(SLOTS.get(pool or "", 0), free.get(pool or "", 0))

        planned: dict[str, list[int]] = {}
        for _ in range(3):
            self._seconds += 1.0
            self.fleets.now_us += 1_000_000
            order.learn(
                [
                    FACTS[f"{request.root}.{request.path}"]
                    for request in order.attribute_requests()
                ]
            )
            self._evaluator.evaluate(order, fleet, self.fleets.now_us)
            planned |= self.fleets.plan()
        return {*planned}

    def true(self) -> float | None:
        """Return for how many the rule is shown to hold."""
        registry = self.metrics.registry
        return registry.get_sample_value("fairlead_policy_rule_true", {"rule": "full"})


@pytest.mark.parametrize("when", [NO_LANE, BY_LANE, BY_JOB])
def test_a_rule_for_full_pools_holds_in_those_that_are_full(when: str) -> None:
    """A busy pool says nothing of the slots that another one has."""
    looks = Looks(POOLS + RULE % when, "video", "mail")

    first = looks.plan({"default": 0, "gpu": 8})
    then = looks.plan({"default": 4, "gpu": 0})

    assert ({"gpu"}, {"default"}) == (first, then)


@pytest.mark.parametrize("when", [NO_LANE, BY_LANE])
def test_a_queue_that_moves_comes_under_the_slots_of_its_new_pool(when: str) -> None:
    """At once: what held where it was does not hold where it is."""
    looks = Looks(POOLS + RULE % when, "mail")
    free = {"default": 0, "gpu": 8}

    before = looks.plan(free)
    looks.fleets.apply(POOLS.replace("[video]", "[video, mail]") + RULE % when)

    assert (set(), {"gpu"}) == (before, looks.plan(free))


def test_where_no_pool_serves_a_queue_there_are_no_workers() -> None:
    """A condition that names no pool has an answer for its lanes as well."""
    looks = Looks(POOLS + RULE % "workers.slots == 0 && lane.queue == 'lost'", "lost", "mail")

    planned = looks.plan({"default": 4, "gpu": 8})

    assert ({"default"}, 1.0) == (planned, looks.true())


def test_a_rule_is_shown_as_true_where_it_is_in_a_pool_of_the_policy() -> None:
    """Queues that no pool serves, and pools that were, have no workers: they do not count."""
    looks = Looks(POOLS + RULE % NO_LANE, "mail")

    shown: list[float | None] = []
    for free in ({"default": 4, "gpu": 8}, {"default": 0, "gpu": 8}):
        looks.plan(free)
        shown.append(looks.true())
    looks.fleets.apply('pools: [{name: gpu, queues: ["*"]}]' + RULE % NO_LANE)
    looks.plan({"default": 0, "gpu": 8})

    assert [0.0, 1.0, 0.0] == [*shown, looks.true()]
