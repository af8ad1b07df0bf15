"""The voice of the controller: log lines, events, the status ConfigMap, rows for people.

Events and the status are written when something changed and not at each step, and only by
whoever leads at that moment. A status that could not be written is written at the next step; an
event is said once or not at all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import yaml

from fairlead import log
from fairlead.policy.autoscale import Autoscale
from fairlead.store import Unreachable
from fairlead_autoscaler import told
from fairlead_autoscaler.database import Database
from fairlead_autoscaler.decision import Decision
from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.kube.port import Event, KubeError, KubePort
from fairlead_autoscaler.metrics import Metrics
from fairlead_autoscaler.options import Lead
from fairlead_autoscaler.told import Said
from fairlead_autoscaler.words import SENTENCES

_log = log.get("autoscaler.herald")
AGAIN_SECONDS = 60.0
"""How old what is written of a pool may be while nothing changes, unless it is said."""
STATUS_KEY = "status"
EVENT_SCALED, EVENT_TOLD = "Scale", "Observe"


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What was decided for one pool, and what became of it."""

    pool: str
    decision: Decision
    inputs: Inputs
    config: Autoscale
    name: str
    """Its Deployment."""
    uid: str
    written: bool
    """Whether `replicas` is what was decided."""


@dataclass(slots=True)
class Herald:
    """Tells; one thread calls it."""

    port: KubePort
    database: Database
    lead: Lead
    metrics: Metrics
    clock: Callable[[], float]
    again_seconds: float = AGAIN_SECONDS
    _said: dict[str, Said] = field(default_factory=dict[str, Said])
    _noted_at: dict[str, float] = field(default_factory=dict[str, float])
    _policy: Said = field(default_factory=dict[str, object])
    _due: bool = True

    def begin(self) -> None:
        """Forget what an earlier term said: the first step says all of it."""
        self._said.clear()
        self._noted_at.clear()
        self._due = True

    def tell(self, news: News, *, epoch: int) -> None:
        """Say what was decided for a pool.

        Raises:
            Deposed: another controller leads.
        """
        self.metrics.pools.show(news.pool, news.decision, news.inputs, news.config)
        said = told.said(news.decision, news.inputs, news.config)
        first = news.pool not in self._said
        self._said[news.pool] = said
        changed = news.decision.changed or first
        if changed:
            self._due = True
            self._log(news)
        if news.decision.changed and (news.written or news.decision.scale is None):
            self._event(news)
        noted_at = self._noted_at.get(news.pool)
        if changed or noted_at is None or self.clock() - noted_at >= self.again_seconds:
            self._note(news, said, epoch)

    def tell_absent(self, pool: str, deployment: str | None) -> None:
        """Say of a pool of the policy that it has no Deployment; a repeat is silent."""
        said = told.absent(pool, deployment)
        if self._said.get(pool) != said:
            self._said[pool] = said
            self._due = True
            _log.warning("pool.absent", pool=pool, reason=said["says"])

    def tell_status(self, policy: Said, pools: frozenset[str]) -> None:
        """Write the status ConfigMap, if anything that it says has changed.

        Args:
            policy: What is said of the policy.
            pools: Those that there are; of others nothing is said any more.
        """
        for gone in self._said.keys() - pools:
            del self._said[gone]
            self._due = True
        if policy != self._policy:
            self._policy, self._due = policy, True
        if not self._due or not self.lead.leads():
            return
        text = yaml.safe_dump(
            told.document(self._said, policy), sort_keys=False, allow_unicode=True, width=100
        )
        try:
            self.port.write_status({STATUS_KEY: text})
        except KubeError as error:
            self.metrics.errors.labels("tell").inc()
            _log.warning("status.not_written", reason=str(error))
            return
        self._due = False

    def _log(self, news: News) -> None:
        decision = news.decision
        _log.info(
            "pool.decided",
            pool=news.pool,
            replicas=decision.replicas,
            reason=decision.reason.value,
            says=SENTENCES[decision.reason],
            limited=[each.value for each in decision.limited],
            forbidden=[each.value for each in decision.forbidden],
        )

    def _event(self, news: News) -> None:
        decision, former = news.decision, news.inputs.deployment.replicas
        if decision.scale is not None:
            note = f"from {former} to {decision.scale} pods: {SENTENCES[decision.reason]}"
        else:
            note = f"{former} pods: {SENTENCES[decision.reason]}"
        bad = any(
            each.reason is not None and not each.status
            for each in decision.conditions
            if each.condition.value == "Ready"
        )
        event = Event(
            kind="Deployment",
            name=news.name,
            uid=news.uid,
            type="Warning" if bad else "Normal",
            reason=decision.reason.value,
            action=EVENT_TOLD if decision.scale is None else EVENT_SCALED,
            note=note,
        )
        if not self.lead.leads():
            return
        try:
            self.port.say(event)
        except KubeError as error:
            self.metrics.errors.labels("tell").inc()
            _log.warning("event.not_recorded", pool=news.pool, reason=str(error))

    def _note(self, news: News, said: Said, epoch: int) -> None:
        if not news.inputs.answered:
            return
        try:
            self.database.note_decision(
                news.pool, at=news.inputs.now, decision=said, epoch=epoch
            )
        except Unreachable as error:
            self.metrics.errors.labels("tell").inc()
            _log.warning("decision.not_noted", pool=news.pool, reason=str(error))
            return
        self._noted_at[news.pool] = self.clock()


def policy_said(
    *, version: Mapping[str, object] | None, source: str, refused: str | None
) -> Said:
    """Return what is said of the policy."""
    said: Said = {"source": source}
    if version is not None:
        said |= version
    said["accepted"] = refused is None
    if refused is not None:
        said["refused"] = refused
    return said
