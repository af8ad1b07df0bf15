"""The eyes of the controller: one question to the database a step, and what the watches know.

It also brings the policy's documents into the database where they come from ConfigMaps: what
is stored there is what pools are scaled by, as the scheduler goes by it too.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from fairlead import log
from fairlead.policy import Policy, PolicyRefused, parse
from fairlead.policy.autoscale import Autoscale
from fairlead.store import Unreachable
from fairlead_autoscaler import source
from fairlead_autoscaler.database import Database
from fairlead_autoscaler.kube.port import (
    Document,
    KubeError,
    KubePort,
    Look,
)
from fairlead_autoscaler.metrics import Metrics
from fairlead_autoscaler.options import Options
from fairlead_autoscaler.sights import Clock, Sight
from fairlead_autoscaler.snapshot import Snapshot, Version
from fairlead_autoscaler.source import Followed
from fairlead_autoscaler.troubles import Troubles

_log = log.get("autoscaler.observer")
OTHERS_SECONDS = 60.0
"""How often other autoscalers and quotas are asked for: each change of them is seen so late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Others:
    """What is asked for seldom."""

    asked_at: float | None = None
    autoscalers: Mapping[str, tuple[str, ...]]
    pods_max: int | None = None
    """Our pods at that time, and those that quotas left beside them: what we add within the
    minute counts, and what others do is seen at the next time."""


class Observer:
    """Looks; one thread calls it."""

    def __init__(
        self,
        port: KubePort,
        database: Database,
        options: Options,
        metrics: Metrics,
        *,
        clock: Callable[[], float],
    ) -> None:
        self.policy = Policy()
        self.version: Version | None = None
        """The policy that pools are scaled by; None: none is stored."""
        self.followed = Followed()
        self._port = port
        self._database = database
        self._epoch = 0
        self._troubles = Troubles(_log, clock)
        self._options = options
        self._metrics = metrics
        self._clock = clock
        self._snapshot: Snapshot | None = None
        self._time: Clock | None = None
        self._others = _Others(autoscalers={})

    def configs(self) -> dict[str, Autoscale]:
        """Return what the policy says of each pool that it wants scaled.

        Where nothing is to be scaled, it is only said what would be done.
        """
        only = {} if self._options.enabled else {"dry_run": True}
        return {
            pool.name: pool.autoscale.model_copy(update=only)
            for pool in self.policy.pools
            if pool.autoscale is not None
        }

    def begin(self) -> int:
        """Begin an epoch in the database, and say there where the policy is edited.

        Raises:
            Unreachable: it is to be tried again.
        """
        self._epoch = self._database.lead(self._options.holder)
        kind = "configmap" if self._options.follows else "database"
        self._database.name_source(kind, self._options.place)
        self.followed = Followed()
        if self._options.follows:
            # A watch may be behind: what it shows must not go over what is stored already.
            try:
                self._follow(source.counting(self._port.read_documents()))
            except KubeError as error:
                _log.warning("policy.unread", reason=str(error))
        return self._epoch

    def look(self, *, at_zero: bool) -> Sight | None:
        """Return all that is known; None: the database has never answered.

        Args:
            at_zero: Whether a pool has no pods, so that queues with work matter.

        Raises:
            NotSyncedError: the watches have not shown everything once.
        """
        answered = True
        if self._options.follows:
            self._follow_watched()
        try:
            known = self.version.version if self.version is not None else None
            snapshot = self._database.snapshot(known=known, asks_queues=at_zero)
            self._snapshot = snapshot
            self._time = Clock(database=snapshot.now, own=self._clock())
            self._read_policy(snapshot)
            if self.version is not None:
                self._metrics.policy.goes_by(self.version.version)
            self._troubles.over("database.unreachable")
        except Unreachable as error:
            answered = False
            self._metrics.errors.labels("observe").inc()
            self._troubles.say("database.unreachable", error)
        if self._snapshot is None or self._time is None:
            return None
        cluster = self._port.look()
        self._ask_others(cluster)
        return Sight(
            clock=self._time,
            snapshot=self._snapshot,
            answered=answered,
            cluster=cluster,
            own=self._clock(),
            autoscalers=self._others.autoscalers,
            pods_max=self._others.pods_max,
        )

    def _follow_watched(self) -> None:
        """Store what the watches show; what stands in the way of that keeps no pool waiting."""
        try:
            self._follow(source.counting(self._port.documents()))
            self._troubles.over("policy.not_followed")
        except (KubeError, Unreachable) as error:
            self._metrics.errors.labels("policy").inc()
            self._troubles.say("policy.not_followed", error)

    def _follow(self, document: Document | None) -> None:
        """Store the document that counts, if it is new."""
        if document is None or source.is_known(self.followed, document):
            return
        self.followed = source.follow(
            self.followed, document, self._database, epoch=self._epoch
        )
        self._metrics.policy.followed(good=self.followed.refused is None)
        if self.followed.refused is not None:
            self._metrics.errors.labels("policy").inc()

    def _read_policy(self, snapshot: Snapshot) -> None:
        """Go by the newest policy; one that this program cannot read changes nothing."""
        found = snapshot.policy
        if found is None or found.document is None:
            return
        try:
            self.policy = parse(found.document)
        except PolicyRefused as error:
            _log.warning("policy.unreadable", version=found.version, reason=str(error))
            self._metrics.errors.labels("policy").inc()
        self.version = replace(found, document=None)

    def _ask_others(self, cluster: Look) -> None:
        """Ask for what changes seldom; what is not answered is taken to be as it was."""
        wanted = self._options.reads_autoscalers or self._options.reads_quotas
        asked_at, now = self._others.asked_at, self._clock()
        if not wanted or (asked_at is not None and now - asked_at < OTHERS_SECONDS):
            return
        self._others = replace(self._others, asked_at=now)
        if self._options.reads_autoscalers:
            with self._unanswered("autoscalers"):
                self._others = replace(self._others, autoscalers=self._port.autoscalers())
        if self._options.reads_quotas:
            with self._unanswered("quotas"):
                left = self._port.quota_pods()
                pods_max = None if left is None else left + len(cluster.pods)
                self._others = replace(self._others, pods_max=pods_max)

    @contextmanager
    def _unanswered(self, what: str) -> Generator[None]:
        """Say that a question inside was not answered, which needs a right of its own."""
        try:
            yield
        except KubeError as error:
            self._troubles.say("others.unknown", error, {"what": what})
        else:
            self._troubles.over("others.unknown", {"what": what})
