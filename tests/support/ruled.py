"""A fair order under the rules of a policy, for tests that follow it decision by decision."""

from collections.abc import Callable
from time import thread_time

from fairlead.policy import parse
from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.explain.answer import LaneSnapshot, Question, answer, as_json
from fairlead_scheduler.explain.snapshot import lane_snapshot
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.policy.compiled import compile_policy
from fairlead_scheduler.rules.circuit_breaker import DisabledRule
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from tests.support.fair_bench import Bench

HOUR = 3_600_000_000


def of_job(
    kind: str,
    *,
    priority: int = 0,
    attempts: int = 0,
    since_us: int = 0,
    expires_us: int | None = None,
) -> dict[str, str]:
    """Return what rules find in a job, as the leader reads it."""
    expires = "-" if expires_us is None else expires_us
    return {"job.facts": f"{priority} {attempts} {since_us} {expires} {kind}"}


class Ruled:
    """A fair order under a policy's rules, and a clock that its looks go by."""

    def __init__(self, document: str, *, used: Callable[[], float] = thread_time) -> None:
        self.bench = Bench(compile_policy(parse(document), stored=3))
        self.metrics = Metrics()
        self.disabled: list[DisabledRule] = []
        self.seconds = 100.0
        self.workers = Workers(8, 8)
        clocks = EvaluationClocks(lambda: self.seconds, used)
        self.evaluator = RuleEvaluator(self.metrics.policy.rules, self.disabled.append, clocks)

    def look(self, *, seconds: float = 1.0, hour: int | None = None) -> None:
        """Look at the rules after so long, at this hour."""
        self.seconds += seconds
        self.bench.now_us = self.bench.now_us if hour is None else hour * HOUR
        self.evaluator.evaluate(self.bench.order, lambda _: self.workers, self.bench.now_us)

    def plan(
        self,
        room: int = 1000,
        *,
        slots: int = 8,
        hour: int | None = None,
        seconds: float = 1.0,
    ) -> str:
        """Look and plan; return the names in the order of their claims."""
        self.look(hour=hour, seconds=seconds)
        return self.bench.claim_order(self.bench.plan(room, slots=slots))

    def planned(self, room: int = 1000, *, hour: int | None = None, rounds: int = 4) -> str:
        """Look, and plan some rounds: an unread head goes in the second round at best."""
        self.look(hour=hour)
        jobs = [job for _ in range(rounds) for job in self.bench.plan(room)]
        return self.bench.claim_order(jobs)

    def edit(self, document: str) -> None:
        """Put another policy in force."""
        table = compile_policy(parse(document), stored=4)
        self.bench.order.apply(table, self.bench.now_us)

    def counted(self, series: str, rule: str) -> float | None:
        """Return what the metrics say of a rule."""
        return self.metrics.registry.get_sample_value(series, {"rule": rule})

    def snapshot(self, queue: str, tenant: str, *, job_id: int) -> LaneSnapshot | None:
        """Return where a job stands."""
        now_us = self.bench.now_us
        return lane_snapshot(
            self.bench.order, queue, tenant, job_id=job_id, now_us=now_us, slots=8, free=8
        )

    def explained(
        self, queue: str, tenant: str, *, job_id: int
    ) -> tuple[str, str | None, str | None, float | None, str]:
        """Return what blocks a job, whose that is, which rule, for how long, and a sentence."""
        snapshot = self.snapshot(queue, tenant, job_id=job_id)
        assert snapshot is not None
        found = answer(Question(1, queue, tenant, job_id, job_id), snapshot)
        said = (
            as_json(found, self.bench.order.table).rpartition('"sentence": "')[2].rstrip('"}')
        )
        return found.blocked_by, found.by, found.rule, found.starts_in_seconds, said
