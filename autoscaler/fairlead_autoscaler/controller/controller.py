"""Observe, decide, act: one step for all pools, every few seconds and whenever a pool wakes.

A step reads the database once and the watches without a request, decides on each pool with the
same pure function as the simulator, and writes. A failed write is left to the next step, which
observes its outcome. A crash midway leaves drain marks that lapse by themselves, or replicas
that were decided on; the next controller adopts both as it finds them.
"""

from collections.abc import Callable, Sequence
from time import monotonic

from fairlead.db.connect import Unreachable
from fairlead.policy.autoscale import Autoscale
from fairlead.runtime import log
from fairlead_autoscaler.controller import budget
from fairlead_autoscaler.controller.actor import Actor, ScaleOutcome
from fairlead_autoscaler.controller.budget import Budget, ConnectionLimit, SharedResources
from fairlead_autoscaler.controller.database import Database, Deposed, OwnedByAnother
from fairlead_autoscaler.controller.failure_log import FailureLog
from fairlead_autoscaler.controller.observer import Observer
from fairlead_autoscaler.controller.options import Leadership, Options, Term
from fairlead_autoscaler.controller.pool_inputs import (
    Observation,
    inputs_of,
    pods_of,
    pools_with_work,
)
from fairlead_autoscaler.controller.publisher import PoolReport, Publisher, policy_status
from fairlead_autoscaler.controller.standing import Standing
from fairlead_autoscaler.decision import quotas
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import Decision, State
from fairlead_autoscaler.election.vacancy import Obstacle, Problem
from fairlead_autoscaler.kube.port import KubeError, KubePort
from fairlead_autoscaler.metrics.registry import Metrics

_log = log.get("autoscaler")
OBSERVATION_SECONDS_MAX = 5.0
"""An older observation is not decided on; calls that hang may take this long."""
_REPEATS_MAX = 5
"""Steps in a row that follow a refused write at once: a writer that is always ahead of us
must not cause a busy loop."""


class Controller:
    """The body of the loop.

    Args:
        port: The cluster.
        database: The session of this controller.
        leadership: Whether it may write.
        options: The rest of its configuration.
        metrics: Its series.
        clock: The port's, in seconds.
    """

    def __init__(
        self,
        port: KubePort,
        database: Database,
        leadership: Leadership,
        options: Options,
        *,
        metrics: Metrics,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._port = port
        self._clock = clock
        self._leadership = leadership
        self._options = options
        self._metrics = metrics
        self._observer = Observer(port, database, options, metrics, clock=clock)
        self._actor = Actor(port, database, leadership, metrics, clock=clock)
        self._publisher = Publisher(
            port, database, leadership, metrics, clock, options.refresh_seconds
        )
        self._standing = Standing(port, metrics, options.pod, clock=clock)
        self._failures = FailureLog(_log, clock)
        self._term: Term | None = None
        self._problem: Problem | None = None
        """What kept the last term from beginning; None: nothing did."""

    @property
    def has_pool_at_zero(self) -> bool:
        """Whether a pool has no pods, so that a job should wake it soon."""
        return self._term is not None and self._term.at_zero

    @property
    def is_repeat_due(self) -> bool:
        """Whether the last write hit a newer workload, so that another step helps."""
        term = self._term
        return term is not None and term.refused and term.repeats < _REPEATS_MAX

    def step(self) -> None:
        """Do one step; return when it is done, whatever failed."""
        if not self._leadership.is_leader():
            self._stand_down()
            self._standing.check(self._leadership.problem)
            return
        with self._metrics.reconcile.time():
            try:
                term = self._current_term()
                self._standing.check(self._problem)
                if term is None:
                    return
                term.repeats = term.repeats + 1 if term.refused else 0
                term.refused = False
                observation = self._observer.observe(
                    at_zero=term.at_zero, at_quota=term.at_quota
                )
                self._failures.resolve("observe.failed")
                if observation is not None:
                    self._decide_all(term, observation)
            except KubeError as error:
                self._metrics.errors.labels("observe").inc()
                self._failures.report("observe.failed", error)
            except Deposed:
                _log.warning("leadership.lost")
                self._stand_down()

    def _stand_down(self) -> None:
        """Clear metrics and memory: another controller decides."""
        if self._term is not None:
            self._term = None
            self._metrics.end()

    def _current_term(self) -> Term | None:
        """Return the term, begun now if it is a new one; None: it cannot begin yet."""
        number = self._leadership.term
        if self._term is None or self._term.number != number:
            self._stand_down()
            epoch = self._begun_epoch()
            if epoch is None:
                return None
            self._term = Term(number=number, epoch=epoch)
            self._publisher.begin()
            self._metrics.leadership.begin()
            _log.info("leadership.acquired", epoch=epoch)
        return self._term

    def _begun_epoch(self) -> int | None:
        """Begin an epoch in the database; None: it cannot begin yet."""
        try:
            epoch = self._observer.begin()
        except Unreachable as error:
            self._metrics.errors.labels("observe").inc()
            self._failures.report("database.unreachable", error)
            self._problem = Problem(Obstacle.DATABASE_UNREACHABLE, str(error))
            return None
        except OwnedByAnother as error:
            self._metrics.errors.labels("observe").inc()
            self._failures.report("database.of_another_release", error)
            self._problem = Problem(Obstacle.DATABASE_OF_ANOTHER, str(error))
            return None
        self._failures.resolve("database.unreachable")
        self._failures.resolve("database.of_another_release")
        self._problem = None
        return epoch

    def _decide_all(self, term: Term, observation: Observation) -> None:
        """Decide on every pool and act, the pools with the longest waits first."""
        configs = self._observer.configs()
        found = observation.cluster.workloads
        here = {pool: config for pool, config in configs.items() if pool in found}
        for pool in configs.keys() - here.keys():
            self._publisher.publish_missing_target(pool, self._options.targets.get(pool))
        for gone in term.states.keys() - here.keys():
            del term.states[gone]
            self._metrics.pools.forget(gone)
        limit = budget.connection_limit(
            observation.snapshot.connections,
            observation.pooler,
            reserve=self._observer.policy.capacity.connections_reserve,
        )
        details = {} if limit is None else {Reason.AT_CONNECTIONS: limit.detail}
        shared = _shared_resources(observation, here, limit)
        woken = pools_with_work(observation.snapshot.queues, self._observer.policy.pools)
        done: list[PoolReport] = []
        for pool in budget.by_urgency(here, here, observation.snapshot.demand, observation.now):
            if self._clock() - observation.own > OBSERVATION_SECONDS_MAX:
                left = ", ".join(sorted(here.keys() - {each.pool for each in done}))
                self._failures.report(
                    "step.cut_short", f"the observation is too old for {left}"
                )
                break
            inputs = inputs_of(
                observation,
                pool,
                connections=None if shared.connections is None else shared.connections.of(pool),
                details=details,
                room=quotas.room(shared.quotas, pool),
                pending=pool in woken,
                write_failed=pool in term.failed,
            )
            done.append(self._decide_pool(term, inputs, here[pool], pool=pool))
            shared = shared.after(
                pool,
                _pods_possible(done[-1].decision, inputs),
                connections_per_pod=here[pool].connections_per_pod,
            )
        else:
            self._failures.resolve("step.cut_short")
        self._publish_all(term, done, frozenset(configs))

    def _publish_all(
        self, term: Term, done: Sequence[PoolReport], configured: frozenset[str]
    ) -> None:
        """Say what was decided on the pools, when every write is done."""
        term.at_zero = any(_requested_replicas(each) == 0 for each in done)
        term.at_quota = any(Reason.AT_QUOTA in each.decision.limited for each in done)
        for report in done:
            self._publisher.publish(report, epoch=term.epoch)
        self._publisher.publish_refusal(self._observer.synced)
        if self.is_repeat_due:
            return
        # Reporting comes last; a pool that wakes cuts it short.
        self._publisher.record_events()
        self._publisher.publish_status(self._policy_status(), configured)

    def _decide_pool(
        self,
        term: Term,
        inputs: Inputs,
        config: Autoscale,
        *,
        pool: str,
    ) -> PoolReport:
        """Decide on one pool, write the decision, and remember its outcome."""
        former = term.states.get(pool, State())
        decision = decide(former, inputs, config)
        term.states[pool] = decision.state
        term.failed.discard(pool)
        outcome = self._actor.act(pool, decision, inputs, epoch=term.epoch)
        written = outcome is ScaleOutcome.WRITTEN
        if not written:
            term.failed.add(pool)
        term.refused |= outcome is ScaleOutcome.REFUSED
        for seconds in _new_start_seconds(former, decision.state):
            self._metrics.actions.pod_start.labels(pool).observe(seconds)
        return PoolReport(
            pool=pool,
            decision=decision,
            inputs=inputs,
            config=config,
            written=written,
        )

    def _policy_status(self) -> dict[str, object]:
        version, synced = self._observer.version, self._observer.synced
        places = self._observer.policy_places()
        self._metrics.policy.show_places(1 + len(places))
        return policy_status(
            version=None
            if version is None
            else {"version": version.version, "digest": version.digest},
            source="configmap" if self._options.syncs_policy else "database",
            refused=synced.refused or self._observer.unreadable,
            author=synced.author,
            places=places,
        )


def _requested_replicas(report: PoolReport) -> int:
    """Return a workload's requested replicas after a decision on its pool."""
    scale = report.decision.scale if report.written else None
    return report.inputs.workload.replicas if scale is None else scale


def _pods_possible(decision: Decision, inputs: Inputs) -> int:
    """Return the most pods that the pool may have after a decision."""
    asked = inputs.workload.replicas if decision.scale is None else decision.scale
    return asked + sum(pod.terminating for pod in inputs.pods)


def _new_start_seconds(former: State, later: State) -> tuple[float, ...]:
    """Return the start delays measured since, in seconds."""
    before, after = former.startup_delays.seconds, later.startup_delays.seconds
    for new in range(len(after) + 1):
        kept = len(after) - new
        if after[:kept] == before[len(before) - kept :] or kept == 0:
            return after[kept:]
    return ()


def _shared_resources(
    observation: Observation, configs: dict[str, Autoscale], limit: ConnectionLimit | None
) -> SharedResources:
    """Return the connections and the quotas' limits, and each pool's use of them."""
    pods = pods_of(observation.cluster, asked=True)
    read = observation.quotas
    found = observation.cluster.workloads
    held = {pool: each.connections_per_pod * pods[pool] for pool, each in configs.items()}
    return SharedResources(
        connections=None if limit is None else Budget(limit.total, held),
        quotas=quotas.shares(
            read.limits,
            {pool: each.template for pool, each in found.items()},
            read.defaults,
            then=read.pods,
            now=pods,
        ),
    )
