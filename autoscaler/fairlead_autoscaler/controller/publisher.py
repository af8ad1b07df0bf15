"""Publish decisions: log lines, Kubernetes events, the status ConfigMap, rows for the CLI.

Events and the status are written on changes and not at each step, and only by the leader of the
moment. A failed write is repeated at a later step; of a pool's events, and of the policy's,
only the last one is kept for that. An event whose answer was lost may be recorded twice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from fairlead.db.connect import Unreachable
from fairlead.policy.autoscale import Autoscale
from fairlead.runtime import log
from fairlead_autoscaler import status
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.controller.failure_log import FailureLog
from fairlead_autoscaler.controller.options import Leadership
from fairlead_autoscaler.controller.policy_sync import SyncedDocument
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason, sentence
from fairlead_autoscaler.decision.result import Decision
from fairlead_autoscaler.kube.port import (
    BusyError,
    Event,
    KubeError,
    KubePort,
    UnreachableError,
)
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_autoscaler.status import Status
from fairlead_autoscaler.targets import Target

_log = log.get("autoscaler.publisher")
REFRESH_SECONDS = 60.0
"""Maximum age of a pool's stored decision while nothing changes, unless configured."""
STATUS_KEY = "status"
EVENT_SCALED, EVENT_OBSERVED = "Scale", "Observe"
_POLICY = "the policy"
"""The key of the policy's event next to those of pools; no pool has such a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReport:
    """What was decided for one pool, and the outcome."""

    pool: str
    decision: Decision
    inputs: Inputs
    config: Autoscale
    written: bool
    """Whether `replicas` is what was decided."""


@dataclass(slots=True)
class Publisher:
    """Publishes; one thread calls it."""

    port: KubePort
    database: Database
    leadership: Leadership
    metrics: Metrics
    clock: Callable[[], float]
    refresh_seconds: float = REFRESH_SECONDS
    _statuses: dict[str, Status] = field(default_factory=dict[str, Status])
    _recorded_at: dict[str, float] = field(default_factory=dict[str, float])
    _pending_events: dict[str, Event] = field(default_factory=dict[str, Event])
    """The event still to be recorded for each pool, and for the policy."""
    _refused: tuple[str, str] | None = None
    """The ConfigMap, and its version, whose refusal was last reported."""
    _unwritten: dict[str, tuple[Reason, int]] = field(
        default_factory=dict[str, tuple[Reason, int]]
    )
    """For each pool, the write that was decided at the last step and failed."""
    _policy: Status = field(default_factory=dict[str, object])
    _status_due: bool = True
    _failures: FailureLog = field(init=False)

    def __post_init__(self) -> None:
        """Create the failure log."""
        self._failures = FailureLog(_log, self.clock)

    def begin(self) -> None:
        """Forget what an earlier term published: the first step publishes everything."""
        self._statuses.clear()
        self._pending_events.clear()
        self._refused = None
        self._unwritten.clear()
        self._recorded_at.clear()
        self._status_due = True

    def publish(self, report: PoolReport, *, epoch: int) -> None:
        """Publish the decision on a pool.

        Raises:
            Deposed: another controller leads.
        """
        self.metrics.pools.show(report.pool, report.decision, report.inputs, report.config)
        status_now = status.pool_status(report.decision, report.inputs, report.config)
        first = report.pool not in self._statuses
        self._statuses[report.pool] = status_now
        changed = self._has_changed(report) or first
        if changed:
            self._status_due = True
            self._log(report)
        event = _event(report)
        if event is not None:
            self._pending_events[report.pool] = event
        recorded_at = self._recorded_at.get(report.pool)
        if changed or recorded_at is None or self.clock() - recorded_at >= self.refresh_seconds:
            self._record(report, status_now, epoch)

    def publish_refusal(self, synced: SyncedDocument) -> None:
        """Queue an event on a ConfigMap, where its editor looks: its document is refused.

        The same document again queues nothing.
        """
        document = (synced.name, synced.version)
        if synced.refused is None or document == self._refused:
            return
        self._refused = document
        self._pending_events[_POLICY] = Event(
            kind="ConfigMap",
            name=synced.name,
            uid=synced.uid,
            type="Warning",
            reason="PolicyRefused",
            action="Store",
            note=f"{synced.refused}; the policy stored last stays in force",
        )

    def record_events(self) -> None:
        """Record the pending events; those that fail for now are left to the next step.

        If a pool has woken, only one is recorded: its jobs wait, and a request to the API
        server may take a tenth of a second.
        """
        for of, event in tuple(self._pending_events.items()):
            if not self.leadership.is_leader():
                return
            about = {"object": event.name}
            try:
                self.port.record_event(event)
            except KubeError as error:
                self.metrics.errors.labels("publish").inc()
                self._failures.report("event.not_recorded", error, about)
                if isinstance(error, (UnreachableError, BusyError)):
                    return
            else:
                self._failures.resolve("event.not_recorded", about)
            del self._pending_events[of]
            if self.database.has_woken():
                return

    def publish_missing_target(self, pool: str, target: Target | None) -> None:
        """Report a pool of the policy that nothing holds pods of; a repeat is silent."""
        status_now = status.missing_target(pool, target)
        if self._statuses.get(pool) != status_now:
            self._statuses[pool] = status_now
            self._status_due = True
            _log.warning("pool.target_missing", pool=pool, reason=status_now["message"])

    def publish_status(self, policy: Status, pools: frozenset[str]) -> None:
        """Write the status ConfigMap if anything in it has changed.

        It waits for events that were postponed because a pool woke.

        Args:
            policy: The status of the policy.
            pools: The existing pools; others are dropped from the status.
        """
        for gone in self._statuses.keys() - pools:
            del self._statuses[gone]
            self._pending_events.pop(gone, None)
            self._unwritten.pop(gone, None)
            self._status_due = True
        if policy != self._policy:
            self._policy, self._status_due = policy, True
        postponed = bool(self._pending_events) and self.database.has_woken()
        if not self._status_due or postponed or not self.leadership.is_leader():
            return
        text = yaml.safe_dump(
            status.document(self._statuses, policy),
            sort_keys=False,
            allow_unicode=True,
            width=100,
        )
        try:
            self.port.write_status({STATUS_KEY: text})
        except KubeError as error:
            self.metrics.errors.labels("publish").inc()
            self._failures.report("status.not_written", error)
            return
        self._failures.resolve("status.not_written")
        self._status_due = False

    def _has_changed(self, report: PoolReport) -> bool:
        """Return whether to report a decision: a write that fails again is no change."""
        decision, former = report.decision, self._unwritten.pop(report.pool, None)
        if decision.scale is None or report.written:
            return decision.has_changed
        self._unwritten[report.pool] = (decision.reason, decision.scale)
        return decision.conditions_changed or former != self._unwritten[report.pool]

    def _log(self, report: PoolReport) -> None:
        decision = report.decision
        _log.info(
            "pool.decided",
            pool=report.pool,
            replicas=decision.replicas,
            reason=decision.reason.value,
            message=sentence(decision.reason, decision.details),
            limited_by=[each.value for each in decision.limited],
            forbidden_by=[each.value for each in decision.forbidden],
        )

    def _record(self, report: PoolReport, status_now: Status, epoch: int) -> None:
        if not report.inputs.answered:
            return
        try:
            self.database.record_decision(
                report.pool, at=report.inputs.now, decision=status_now, epoch=epoch
            )
        except Unreachable as error:
            self.metrics.errors.labels("publish").inc()
            self._failures.report("decision.not_recorded", error, {"pool": report.pool})
            return
        self._failures.resolve("decision.not_recorded", {"pool": report.pool})
        self._recorded_at[report.pool] = self.clock()


def _event(report: PoolReport) -> Event | None:
    """Return the event for written `replicas` or a changed condition; None: nothing happened.

    A condition may change in a step whose write failed; it is reported nonetheless.
    """
    decision, former = report.decision, report.inputs.workload.replicas
    scale = decision.scale if report.written else None
    if scale is None and not decision.conditions_changed:
        return None
    pods = f"{former} pods" if scale is None else f"from {former} to {scale} pods"
    bad = any(
        each.reason is not None and not each.status
        for each in decision.conditions
        if each.condition.value == "Ready"
    )
    note = f"{pods}: {sentence(decision.reason, decision.details)}"
    if Reason.PODS_CANNOT_RUN in decision.details:
        note = f"{note}; {sentence(Reason.PODS_CANNOT_RUN, decision.details)}"
    return Event(
        kind=report.inputs.workload.kind,
        api_version=report.inputs.workload.api_version,
        name=report.inputs.workload.name,
        uid=report.inputs.workload.uid,
        type="Warning" if bad else "Normal",
        reason=decision.reason.value,
        action=EVENT_OBSERVED if scale is None else EVENT_SCALED,
        note=note,
    )


def policy_status(
    *,
    version: Mapping[str, object] | None,
    source: str,
    refused: str | None,
    author: str = "",
    places: Sequence[str] = (),
) -> Status:
    """Return the status of the policy, with what else writes it."""
    status_now: Status = {"source": source}
    if version is not None:
        status_now |= version
    status_now["accepted"] = refused is None
    if refused is not None:
        status_now["refused"] = refused
    if author:
        status_now["author"] = author
    if places:
        status_now["writtenElsewhere"] = list(places)
    return status_now
