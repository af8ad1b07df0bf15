"""Act on a decision: drain marks in the database, `replicas` in the cluster.

Marks that return pods to work are removed first, then marks are set, then `replicas` is
written. The Lease is checked just before each write to the cluster, and each statement checks
the epoch, so that a controller that was frozen in between changes nothing that another one
does.
"""

from collections.abc import Callable
from enum import Enum, auto

from fairlead.db.connect import Unreachable
from fairlead.runtime import log
from fairlead_autoscaler.controller.database import Database, DrainMarks
from fairlead_autoscaler.controller.failure_log import FailureLog
from fairlead_autoscaler.controller.options import Leadership
from fairlead_autoscaler.decision import fleet
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.result import Decision
from fairlead_autoscaler.kube.port import ConflictError, KubeError, KubePort
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_autoscaler.targets import Removal

_log = log.get("autoscaler.actor")
_NOT_MARKED = (
    "a pod to be removed is not, or no longer, empty under a drain mark in the database"
)


class ScaleOutcome(Enum):
    """What happened to the `replicas` that were decided."""

    WRITTEN = auto()
    """They are requested, or there was nothing to request."""
    REFUSED = auto()
    """The workload is newer than the one decided on: the next observation shows it."""
    FAILED = auto()


class Actor:
    """Acts on the decision for one pool at a time."""

    def __init__(
        self,
        port: KubePort,
        database: Database,
        leadership: Leadership,
        metrics: Metrics,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._port = port
        self._database = database
        self._leadership = leadership
        self._metrics = metrics
        self._failures = FailureLog(_log, clock)

    def act(self, pool: str, decision: Decision, inputs: Inputs, *, epoch: int) -> ScaleOutcome:
        """Write what was decided, and return what happened to `replicas`.

        Args:
            pool: The pool.
            decision: What was decided.
            inputs: What it was decided from.
            epoch: The epoch that marks are written under.

        Raises:
            Deposed: another controller leads.
        """
        empty = self._mark(pool, decision, inputs, epoch)
        if decision.scale is None:
            return ScaleOutcome.WRITTEN
        lowers = decision.scale < inputs.workload.replicas
        if lowers and (empty is None or not _counted_on(decision, inputs) <= empty):
            # A mark that was not renewed has lapsed, and its pod takes jobs again.
            self._failures.report("scale.postponed", _NOT_MARKED, {"pool": pool})
            return ScaleOutcome.FAILED
        self._failures.resolve("scale.postponed", {"pool": pool})
        return self._scale(pool, decision, inputs)

    def _mark(
        self, pool: str, decision: Decision, inputs: Inputs, epoch: int
    ) -> frozenset[str] | None:
        """Write drain marks; return the pods that are empty under them; None: that failed."""
        if not inputs.answered:
            return None if decision.drain or decision.undrain else frozenset()
        now = inputs.now
        marked = {
            each.pod_uid
            for each in inputs.workers
            if each.drain_until is not None and each.drain_until > now
        }
        fresh = tuple(uid for uid in decision.drain if uid not in marked)
        try:
            self._database.unmark_drain(decision.undrain, epoch=epoch)
            marks = DrainMarks(
                pool=pool, pods=decision.drain, fresh=fresh, until=decision.drain_until
            )
            empty = self._database.mark_drain(marks, epoch=epoch)
        except Unreachable as error:
            self._metrics.errors.labels("mark").inc()
            self._failures.report("drain_mark.failed", error, {"pool": pool})
            return None
        self._failures.resolve("drain_mark.failed", {"pool": pool})
        busy = {each.pod_uid for each in inputs.loads if each.jobs}
        for uid in fresh:
            state = "busy" if uid in busy else "idle"
            self._metrics.actions.victims.labels(pool, state).inc()
            _log.info("pod.drain_marked", pool=pool, pod_uid=uid, state=state)
        for uid in decision.undrain:
            _log.info("pod.drain_unmarked", pool=pool, pod_uid=uid)
        return empty

    def _scale(self, pool: str, decision: Decision, inputs: Inputs) -> ScaleOutcome:
        assert decision.scale is not None
        workload = inputs.workload
        former = workload.replicas
        if not self._leadership.is_leader():
            return ScaleOutcome.FAILED
        try:
            self._write(pool, decision.scale, inputs)
        except ConflictError as error:
            self._metrics.actions.conflicts.labels(pool).inc()
            _log.info("scale.conflict", pool=pool, reason=str(error))
            return ScaleOutcome.REFUSED
        except KubeError as error:
            self._metrics.errors.labels("scale").inc()
            self._failures.report("scale.failed", error, {"pool": pool})
            return ScaleOutcome.FAILED
        self._failures.resolve("scale.failed", {"pool": pool})
        direction = "up" if decision.scale > former else "down"
        self._metrics.actions.scaled.labels(pool, direction, decision.reason.value).inc()
        self._metrics.actions.replicas.labels(pool, direction).inc(abs(decision.scale - former))
        _log.info(
            "pool.scaled",
            pool=pool,
            target=workload.address,
            replicas=decision.scale,
            former=former,
            reason=decision.reason.value,
        )
        return ScaleOutcome.WRITTEN

    def _write(self, pool: str, pods: int, inputs: Inputs) -> None:
        """Ask for so many pods, or make the Jobs that are missing for them."""
        workload = inputs.workload
        if workload.removal is Removal.BY_THEMSELVES:
            self._port.create_jobs(pool, total=pods, may_go_on=self._leadership.is_leader)
            return
        self._port.apply_scale(workload.address, replicas=pods, version=workload.version)


def _counted_on(decision: Decision, inputs: Inputs) -> frozenset[str]:
    """Return the pods that are to be removed and were empty when observed."""
    here = fleet.of(inputs).members
    return frozenset(each.uid for each in here if each.is_drained(inputs.now)) & {
        *decision.drain
    }
