"""Whatever rules apply, no job that one holds is dispatched, nor any beyond a limit."""

from collections import Counter
from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st

from fairlead.policy import parse
from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.policy.compiled import compile_policy
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from tests.support.fair_bench import MS, Bench

LANES = ("q/a", "q/b", "r/a", "r/c")
_SLOTS = 9
"""As few as this let so few rows overtake others that no lane runs out of jobs."""
LANE_OF = {job: LANES[job % len(LANES)] for job in range(1, 2601)}
Rule = tuple[str, int, int | None]
"""Its match, below how many free slots it applies, and its limit; None: a hold."""
Step = tuple[int, int, int]
"""The free slots, how many jobs to plan, and how many of those in flight end before that."""
_RULES = st.tuples(
    st.sampled_from(["queue: q", "queue: r", "tenant: a", "queue: q, tenant: b"]),
    st.integers(0, 9),
    st.none() | st.integers(1, 6),
)
_STEPS = st.tuples(st.integers(0, 9), st.integers(0, 8), st.integers(0, 8))


def groups(match: str) -> Iterator[list[str]]:
    """Yield the lanes that share a limit: all of a queue, or each tenant of it alone."""
    wanted = dict(each.split(": ") for each in match.split(", "))
    meant = [
        lane
        for lane in LANES
        if wanted.get("queue", lane[0]) == lane[0] and wanted.get("tenant", lane[2]) == lane[2]
    ]
    yield from [meant] if "tenant" not in wanted else ([lane] for lane in meant)


def document(rules: Sequence[Rule]) -> str:
    """Return the policy with these rules."""
    effects = ["hold: true" if x is None else f"slots: {{limit: {x}}}" for _, _, x in rules]
    listed = [
        f"{{match: {{{match}}}, when: workers.free < {below}, {effect}}}"
        for (match, below, _), effect in zip(rules, effects, strict=True)
    ]
    return f"rules: [{', '.join(listed)}]"


class Fleet:
    """A fair order, and workers that claim at once."""

    def __init__(self) -> None:
        self._bench = Bench()
        self._seconds = 0.0
        self._evaluator = RuleEvaluator(
            Metrics().policy.rules,
            lambda _: None,
            EvaluationClocks(lambda: self._seconds, lambda: 0.0),
        )
        self._bench.heads.discovered(
            [PendingJob(job, job, lane[0], lane[2], 0, MS, 0) for job, lane in LANE_OF.items()]
        )
        self.running: list[int] = []
        self._begun_us: dict[int, int] = {}

    def edit(self, rules: Sequence[Rule]) -> None:
        """Put another policy in force."""
        table = compile_policy(
            parse(f"{document(rules)}\nfairness: {{reserve: null}}"), stored=1
        )
        self._bench.order.apply(table, self._bench.now_us)

    def step(self, free: int, room: int, ending: int) -> list[int]:
        """End some jobs, look at the rules and plan; return what was planned."""
        order, now_us = self._bench.order, self._bench.now_us
        ended, self.running = self.running[:ending], self.running[ending:]
        order.ended(ended, [now_us - self._begun_us[job] for job in ended])
        self._seconds += 1.0
        self._evaluator.evaluate(order, lambda _: Workers(_SLOTS, free), now_us)
        planned = [job.id for job in self._bench.plan(room, slots=_SLOTS)]
        order.claimed(planned, self._bench.now_us)
        self._begun_us |= dict.fromkeys(planned, self._bench.now_us - MS)
        self.running += planned
        return planned


@given(
    st.lists(
        st.tuples(st.lists(_RULES, max_size=6), st.lists(_STEPS, max_size=12)),
        min_size=1,
        max_size=3,
    )
)
def test_no_plan_exceeds_what_the_rules_that_hold_allow(
    policies: Sequence[tuple[Sequence[Rule], Sequence[Step]]],
) -> None:
    """Never over a limit, under edits, and no idle slot with eligible work."""
    fleet = Fleet()
    for rules, steps in policies:
        fleet.edit(rules)
        for free, room, ending in steps:
            new = Counter(LANE_OF[job] for job in fleet.step(free, room, ending))
            now = Counter(LANE_OF[job] for job in fleet.running)
            bound: set[str] = set()
            for match, _, limit in (rule for rule in rules if free < rule[1]):
                for group in groups(match):
                    bound.update(group)
                    added = sum(new[lane] for lane in group)
                    assert not added or sum(now[lane] for lane in group) <= (limit or 0)
            assert bound == set(LANES) or new.total() >= room
