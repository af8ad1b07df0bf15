"""The voice of the controller: log lines, events, the status ConfigMap, rows for people.

Events and the status are written when something changed and not at each step, and only by
whoever leads at that moment. What could not be written is written at a later step, of the
events of a pool, and of the policy, the last one. One whose answer was lost may be there twice.
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
from fairlead_autoscaler.kube.port import (
    BusyError,
    Event,
    KubeError,
    KubePort,
    UnreachableError,
)
from fairlead_autoscaler.metrics import Metrics
from fairlead_autoscaler.options import Lead
from fairlead_autoscaler.reasons import Reason
from fairlead_autoscaler.source import Followed
from fairlead_autoscaler.told import Said
from fairlead_autoscaler.troubles import Troubles
from fairlead_autoscaler.words import SENTENCES

_log = log.get("autoscaler.herald")
AGAIN_SECONDS = 60.0
"""How old what is written of a pool may be while nothing changes, unless it is said."""
STATUS_KEY = "status"
EVENT_SCALED, EVENT_TOLD = "Scale", "Observe"
_POLICY = "the policy"
"""What is owed of the policy's ConfigMaps stands beside pools; no pool has such a name."""


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
    _owed: dict[str, Event] = field(default_factory=dict[str, Event])
    """What is to be recorded of each pool, and of the policy."""
    _refused: tuple[str, str] | None = None
    """The ConfigMap, and the version of it, that was last said to be refused."""
    _wishes: dict[str, tuple[Reason, int]] = field(
        default_factory=dict[str, tuple[Reason, int]]
    )
    """What was to be written of each pool, and was not, at the last step."""
    _policy: Said = field(default_factory=dict[str, object])
    _due: bool = True
    _troubles: Troubles = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count the minutes between two warnings."""
        self._troubles = Troubles(_log, self.clock)

    def begin(self) -> None:
        """Forget what an earlier term said: the first step says all of it."""
        self._said.clear()
        self._owed.clear()
        self._refused = None
        self._wishes.clear()
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
        changed = self._is_news(news) or first
        if changed:
            self._due = True
            self._log(news)
        event = _event(news)
        if event is not None:
            self._owed[news.pool] = event
        noted_at = self._noted_at.get(news.pool)
        if changed or noted_at is None or self.clock() - noted_at >= self.again_seconds:
            self._note(news, said, epoch)

    def tell_refused(self, followed: Followed) -> None:
        """Say beside a ConfigMap, where whoever edits it looks, that its document is refused.

        The same document again is silent.
        """
        document = (followed.name, followed.version)
        if followed.refused is None or document == self._refused:
            return
        self._refused = document
        self._owed[_POLICY] = Event(
            kind="ConfigMap",
            name=followed.name,
            uid=followed.uid,
            type="Warning",
            reason="PolicyRefused",
            action="Store",
            note=f"{followed.refused}; what was stored last stays in force",
        )

    def tell_events(self) -> None:
        """Record what is owed; what fails for now is left to the next step.

        So is all but one of them when a pool has woken: its jobs wait, and a request to the
        API server may take a tenth of a second.
        """
        for of, event in tuple(self._owed.items()):
            if not self.lead.leads():
                return
            about = {"object": event.name}
            try:
                self.port.say(event)
            except KubeError as error:
                self.metrics.errors.labels("tell").inc()
                self._troubles.say("event.not_recorded", error, about)
                if isinstance(error, (UnreachableError, BusyError)):
                    return
            else:
                self._troubles.over("event.not_recorded", about)
            del self._owed[of]
            if self.database.woken():
                return

    def tell_absent(self, pool: str, deployment: str | None) -> None:
        """Say of a pool of the policy that it has no Deployment; a repeat is silent."""
        said = told.absent(pool, deployment)
        if self._said.get(pool) != said:
            self._said[pool] = said
            self._due = True
            _log.warning("pool.absent", pool=pool, reason=said["says"])

    def tell_status(self, policy: Said, pools: frozenset[str]) -> None:
        """Write the status ConfigMap, if anything that it says has changed.

        It waits for events that a pool that has woken put off.

        Args:
            policy: What is said of the policy.
            pools: Those that there are; of others nothing is said any more.
        """
        for gone in self._said.keys() - pools:
            del self._said[gone]
            self._owed.pop(gone, None)
            self._wishes.pop(gone, None)
            self._due = True
        if policy != self._policy:
            self._policy, self._due = policy, True
        put_off = bool(self._owed) and self.database.woken()
        if not self._due or put_off or not self.lead.leads():
            return
        text = yaml.safe_dump(
            told.document(self._said, policy), sort_keys=False, allow_unicode=True, width=100
        )
        try:
            self.port.write_status({STATUS_KEY: text})
        except KubeError as error:
            self.metrics.errors.labels("tell").inc()
            self._troubles.say("status.not_written", error)
            return
        self._troubles.over("status.not_written")
        self._due = False

    def _is_news(self, news: News) -> bool:
        """Tell whether to say a decision: one whose write fails again is the same."""
        decision, former = news.decision, self._wishes.pop(news.pool, None)
        if decision.scale is None or news.written:
            return decision.changed
        self._wishes[news.pool] = (decision.reason, decision.scale)
        return decision.turned or former != self._wishes[news.pool]

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

    def _note(self, news: News, said: Said, epoch: int) -> None:
        if not news.inputs.answered:
            return
        try:
            self.database.note_decision(
                news.pool, at=news.inputs.now, decision=said, epoch=epoch
            )
        except Unreachable as error:
            self.metrics.errors.labels("tell").inc()
            self._troubles.say("decision.not_noted", error, {"pool": news.pool})
            return
        self._troubles.over("decision.not_noted", {"pool": news.pool})
        self._noted_at[news.pool] = self.clock()


def _event(news: News) -> Event | None:
    """Return what is worth an event: `replicas` that were written, or a condition that turned.

    A condition may turn in a step whose write failed; that is no reason not to say so.
    """
    decision, former = news.decision, news.inputs.deployment.replicas
    scale = decision.scale if news.written else None
    if scale is None and not decision.turned:
        return None
    pods = f"{former} pods" if scale is None else f"from {former} to {scale} pods"
    bad = any(
        each.reason is not None and not each.status
        for each in decision.conditions
        if each.condition.value == "Ready"
    )
    return Event(
        kind="Deployment",
        name=news.name,
        uid=news.uid,
        type="Warning" if bad else "Normal",
        reason=decision.reason.value,
        action=EVENT_TOLD if scale is None else EVENT_SCALED,
        note=f"{pods}: {SENTENCES[decision.reason]}",
    )


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
