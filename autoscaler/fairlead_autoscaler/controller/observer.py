"""Observe: one query to the database per step, and what the watches know.

Where the policy comes from ConfigMaps, it also stores their document in the database: pools are
scaled by the stored policy, which the scheduler follows too.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from fairlead.db.connect import Unreachable
from fairlead.policy import Policy, PolicyRefused, parse
from fairlead.policy.autoscale import Autoscale
from fairlead.runtime import log
from fairlead_autoscaler.controller import policy_sync
from fairlead_autoscaler.controller.budget import PoolerClients
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.controller.database_snapshot import PolicyVersion, Snapshot
from fairlead_autoscaler.controller.failure_log import FailureLog
from fairlead_autoscaler.controller.options import Options
from fairlead_autoscaler.controller.policy_sync import SyncedDocument
from fairlead_autoscaler.controller.pool_inputs import (
    DatabaseClock,
    Observation,
    QuotasRead,
    pods_of,
)
from fairlead_autoscaler.kube.port import ClusterSnapshot, Document, KubeError, KubePort
from fairlead_autoscaler.metrics.registry import Metrics

_log = log.get("autoscaler.observer")
OPTIONAL_READ_SECONDS = 60.0
"""How often other autoscalers and quotas are read; their changes are seen this late."""
POOLER_SECONDS = 600.0
"""How often the pooler is asked, unless the policy says how many clients it accepts."""
AT_QUOTA_SECONDS = 10.0
"""The same while a quota keeps a pool small: jobs wait for what it does not allow."""
_SAY_IT = (
    "connections bound no pool: set capacity.poolerConnections in the policy, or have "
    "PgBouncer's stats_users name this login"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OptionalReads:
    """What is read seldom."""

    asked_at: float | None = None
    autoscalers: Mapping[str, tuple[str, ...]]
    pooler_asked_at: float | None = None
    pooler_clients: int | None = None
    quotas: QuotasRead = field(default_factory=QuotasRead)


class Observer:
    """Reads the database and the cluster; one thread calls it."""

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
        self.version: PolicyVersion | None = None
        """The policy that pools are scaled by; None: none is stored that can be read."""
        self.unreadable: str | None = None
        """Why a newer one is not in force; None: there is none."""
        self._newest: int | None = None
        """The newest version that was read, whether it could be or not."""
        self.synced = SyncedDocument()
        self._port = port
        self._database = database
        self._epoch = 0
        self._failures = FailureLog(_log, clock)
        self._options = options
        self._metrics = metrics
        self._clock = clock
        self._snapshot: Snapshot | None = None
        self._time: DatabaseClock | None = None
        self._optional = _OptionalReads(autoscalers={})

    def configs(self) -> dict[str, Autoscale]:
        """Return the `autoscale` section of each pool that has one.

        With the autoscaler disabled each is a dry run: decisions are only reported.
        """
        only = {} if self._options.enabled else {"dry_run": True}
        return {
            pool.name: pool.autoscale.model_copy(update=only)
            for pool in self.policy.pools
            if pool.autoscale is not None
        }

    def begin(self) -> int:
        """Begin an epoch in the database, and record there where the policy is edited.

        Raises:
            Unreachable: try again later.
            OwnedByAnother: the database is another release's.
        """
        self._epoch = self._database.begin_epoch(
            self._options.holder, release=self._options.release
        )
        kind = "configmap" if self._options.syncs_policy else "database"
        self._database.record_policy_source(kind, self._options.policy_location)
        self.synced = SyncedDocument()
        self._newest = None
        if self._options.syncs_policy:
            # A watch may lag: its document must not overwrite a newer one that is stored.
            try:
                self._sync(policy_sync.effective(self._port.read_documents()))
            except KubeError as error:
                _log.warning("policy.read_failed", reason=str(error))
        return self._epoch

    def observe(self, *, at_zero: bool, at_quota: bool) -> Observation | None:
        """Return all that is known; None: the database has never answered.

        Args:
            at_zero: Whether a pool has no pods, so that queues with work matter.
            at_quota: Whether a quota keeps a pool from pods that it needs.

        Raises:
            NotSyncedError: the watches have not completed their first list.
        """
        answered = True
        if self._options.syncs_policy:
            self._sync_watched()
        try:
            snapshot = self._database.snapshot(known=self._newest, asks_queues=at_zero)
            self._snapshot = snapshot
            self._time = DatabaseClock(database=snapshot.now, own=self._clock())
            self._read_policy(snapshot)
            if self.version is not None:
                self._metrics.policy.show_version(self.version.version)
            self._failures.resolve("database.unreachable")
            self._report_unreadable(snapshot.unreadable)
        except Unreachable as error:
            answered = False
            self._metrics.errors.labels("observe").inc()
            self._failures.report("database.unreachable", error)
        if self._snapshot is None or self._time is None:
            return None
        cluster = self._port.snapshot()
        pooler = None if self._options.direct else self._read_pooler()
        self._read_optional(cluster, at_quota=at_quota)
        return Observation(
            clock=self._time,
            snapshot=self._snapshot,
            answered=answered,
            cluster=cluster,
            own=self._clock(),
            autoscalers=self._optional.autoscalers,
            quotas=self._optional.quotas,
            pooler=pooler,
        )

    def _report_unreadable(self, found: Sequence[str]) -> None:
        """Name one of the rows that were left out, if there are any; the rest goes on."""
        if not found:
            self._failures.resolve("database.row_unreadable")
            return
        self._metrics.errors.labels("observe").inc()
        others = f", and {len(found) - 1} more" if len(found) > 1 else ""
        self._failures.report("database.row_unreadable", f"{found[0]}{others}")

    def policy_places(self) -> tuple[str, ...]:
        """Return what else writes the policy, if anything does: sentences."""
        if not self._options.syncs_policy or self._snapshot is None:
            return ()
        newest = self._snapshot.policy
        try:
            documents = self._port.documents()
        except KubeError:
            return ()
        return policy_sync.places(
            documents, self.synced, newest_digest=None if newest is None else newest.digest
        )

    def _sync_watched(self) -> None:
        """Store what the watches show; a failure delays no pool."""
        try:
            self._sync(policy_sync.effective(self._port.documents()))
            self._failures.resolve("policy.sync_failed")
        except (KubeError, Unreachable) as error:
            self._metrics.errors.labels("policy").inc()
            self._failures.report("policy.sync_failed", error)

    def _sync(self, document: Document | None) -> None:
        """Store the effective document if it is new."""
        if document is None or policy_sync.is_known(self.synced, document):
            return
        bounds = self._options.policy_bounds
        is_edited = bounds and document.name == self._options.policy_edited
        self.synced = policy_sync.sync(
            self.synced,
            document,
            self._database,
            epoch=self._epoch,
            refused=policy_sync.beyond(document.text, bounds) if is_edited else None,
        )
        self._metrics.policy.show_synced(good=self.synced.refused is None)
        if self.synced.refused is not None:
            self._metrics.errors.labels("policy").inc()

    def _read_policy(self, snapshot: Snapshot) -> None:
        """Adopt the newest policy that this program can read, as the scheduler does.

        Raises:
            Unreachable: an older one had to be read, and the database did not answer.
        """
        newest = snapshot.policy
        if newest is None or newest.document is None:
            return
        was_unreadable, unreadable = self.unreadable, None
        for found in self._candidates(newest):
            try:
                self.policy = parse(found.document or "")
            except PolicyRefused as error:
                _log.warning("policy.unreadable", version=found.version, reason=str(error))
                self._metrics.errors.labels("policy").inc()
                unreadable = unreadable or f"version {found.version}: {error}"
            else:
                self.version = replace(found, document=None)
                break
        self._newest, self.unreadable = newest.version, unreadable
        if unreadable is not None or was_unreadable is not None:
            self._metrics.policy.show_synced(good=unreadable is None)

    def _candidates(self, newest: PolicyVersion) -> Iterator[PolicyVersion]:
        """Yield the newest policy, then those before it down to the one in force."""
        yield newest
        in_force = 0 if self.version is None else self.version.version
        before = newest.version
        while older := self._database.older_policies(after=in_force, before=before):
            yield from older
            before = older[-1].version

    def _read_optional(self, cluster: ClusterSnapshot, *, at_quota: bool) -> None:
        """Read what changes seldom; without an answer the former value stays."""
        every = AT_QUOTA_SECONDS if at_quota else OPTIONAL_READ_SECONDS
        reads = self._options.reads_autoscalers or self._options.reads_quotas
        asked_at, now = self._optional.asked_at, self._clock()
        if not reads or (asked_at is not None and now - asked_at < every):
            return
        self._optional = replace(self._optional, asked_at=now)
        if self._options.reads_autoscalers:
            with self._reporting_failure("autoscalers"):
                self._optional = replace(self._optional, autoscalers=self._port.autoscalers())
        if self._options.reads_quotas:
            with self._reporting_failure("quotas"):
                limits, pods = self._port.quotas(), pods_of(cluster, asked=False)
                self._quotas_are(replace(self._optional.quotas, limits=limits, pods=pods))
            if self._optional.quotas.limits:
                with self._reporting_failure("limit ranges"):
                    defaults = self._port.container_defaults()
                    self._quotas_are(replace(self._optional.quotas, defaults=defaults))

    def _quotas_are(self, quotas: QuotasRead) -> None:
        self._optional = replace(self._optional, quotas=quotas)

    def _read_pooler(self) -> PoolerClients:
        """Return what the pooler accepts; without an answer the former one stays."""
        given = self.policy.capacity.pooler_connections
        asked_at, now = self._optional.pooler_asked_at, self._clock()
        is_due = asked_at is None or now - asked_at >= POOLER_SECONDS
        if given is None and is_due:
            self._optional = replace(self._optional, pooler_asked_at=now)
            try:
                told = self._database.pooler_clients()
            except Unreachable as error:
                self._failures.report("pooler.not_asked", f"{error}; {_SAY_IT}")
            else:
                self._optional = replace(self._optional, pooler_clients=told)
        return PoolerClients(given=given, told=self._optional.pooler_clients)

    @contextmanager
    def _reporting_failure(self, what: str) -> Generator[None]:
        """Report a failed read inside, which needs a right of its own."""
        try:
            yield
        except KubeError as error:
            self._failures.report("cluster.read_failed", error, {"what": what})
        else:
            self._failures.resolve("cluster.read_failed", {"what": what})
