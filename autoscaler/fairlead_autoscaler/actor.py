"""The hands of the controller: marks in the database, `replicas` in the cluster.

What puts pods back to work is written first, then marks, then `replicas`. The Lease is looked
at just before each write to the cluster, and the epoch stands in each statement, so that a
controller that was frozen in between changes nothing of what another one does.
"""

from collections.abc import Callable
from enum import Enum, auto

from fairlead import log
from fairlead.store import Unreachable
from fairlead_autoscaler import fleet
from fairlead_autoscaler.database import Database, Marks
from fairlead_autoscaler.decision import Decision
from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.kube.port import ConflictError, KubeError, KubePort
from fairlead_autoscaler.metrics import Metrics
from fairlead_autoscaler.options import Lead
from fairlead_autoscaler.troubles import Troubles

_log = log.get("autoscaler.actor")
_NOT_MARKED = "a pod that is to go is not, or no longer, empty under a mark in the database"


class Outcome(Enum):
    """What became of the `replicas` that were decided."""

    WRITTEN = auto()
    """They are asked for, or there was nothing to ask for."""
    REFUSED = auto()
    """The Deployment is newer than the one that was decided on: another look shows it."""
    FAILED = auto()


class Actor:
    """Does what was decided for one pool at a time."""

    def __init__(
        self,
        port: KubePort,
        database: Database,
        lead: Lead,
        metrics: Metrics,
        *,
        clock: Callable[[], float],
    ) -> None:
        self._port = port
        self._database = database
        self._lead = lead
        self._metrics = metrics
        self._troubles = Troubles(_log, clock)

    def act(
        self, pool: str, decision: Decision, inputs: Inputs, *, epoch: int, name: str
    ) -> Outcome:
        """Write what was decided, and tell what became of `replicas`.

        Args:
            pool: The pool.
            decision: What was decided.
            inputs: What it was decided from.
            epoch: Under which marks are written.
            name: The pool's Deployment.

        Raises:
            Deposed: another controller leads.
        """
        empty = self._mark(pool, decision, inputs, epoch)
        if decision.scale is None:
            return Outcome.WRITTEN
        lowers = decision.scale < inputs.deployment.replicas
        if lowers and (empty is None or not _counted_on(decision, inputs) <= empty):
            # A mark that is not renewed lapses, and its pod takes jobs again.
            self._troubles.say("scale.put_off", _NOT_MARKED, {"pool": pool})
            return Outcome.FAILED
        self._troubles.over("scale.put_off", {"pool": pool})
        return self._scale(pool, decision, inputs, name)

    def _mark(
        self, pool: str, decision: Decision, inputs: Inputs, epoch: int
    ) -> frozenset[str] | None:
        """Write marks and return the pods that are empty under them; None: that failed."""
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
            self._database.unmark(decision.undrain, epoch=epoch)
            marks = Marks(
                pool=pool, pods=decision.drain, fresh=fresh, until=decision.drain_until
            )
            empty = self._database.mark(marks, epoch=epoch)
        except Unreachable as error:
            self._metrics.errors.labels("mark").inc()
            self._troubles.say("mark.failed", error, {"pool": pool})
            return None
        self._troubles.over("mark.failed", {"pool": pool})
        busy = {each.pod_uid for each in inputs.loads if each.jobs}
        for uid in fresh:
            state = "busy" if uid in busy else "idle"
            self._metrics.actions.victims.labels(pool, state).inc()
            _log.info("pod.marked", pool=pool, pod_uid=uid, state=state)
        for uid in decision.undrain:
            _log.info("pod.unmarked", pool=pool, pod_uid=uid)
        return empty

    def _scale(self, pool: str, decision: Decision, inputs: Inputs, name: str) -> Outcome:
        assert decision.scale is not None
        former = inputs.deployment.replicas
        if not self._lead.leads():
            return Outcome.FAILED
        try:
            self._port.apply_scale(
                name, replicas=decision.scale, version=inputs.deployment.version
            )
        except ConflictError as error:
            self._metrics.actions.conflicts.labels(pool).inc()
            _log.info("scale.conflict", pool=pool, reason=str(error))
            return Outcome.REFUSED
        except KubeError as error:
            self._metrics.errors.labels("scale").inc()
            self._troubles.say("scale.failed", error, {"pool": pool})
            return Outcome.FAILED
        self._troubles.over("scale.failed", {"pool": pool})
        direction = "up" if decision.scale > former else "down"
        self._metrics.actions.scaled.labels(pool, direction, decision.reason.value).inc()
        self._metrics.actions.replicas.labels(pool, direction).inc(abs(decision.scale - former))
        _log.info(
            "pool.scaled",
            pool=pool,
            deployment=name,
            replicas=decision.scale,
            former=former,
            reason=decision.reason.value,
        )
        return Outcome.WRITTEN


def _counted_on(decision: Decision, inputs: Inputs) -> frozenset[str]:
    """Return the pods that are to go and were empty when it was looked."""
    here = fleet.of(inputs).members
    return frozenset(each.uid for each in here if each.is_drained(inputs.now)) & {
        *decision.drain
    }
