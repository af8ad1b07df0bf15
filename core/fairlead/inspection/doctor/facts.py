"""What the doctor read, as values. None stands for what this login may not see."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from fairlead.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """The server's version, clock and settings."""

    now: datetime
    version: int
    """180004 is 18.4."""
    version_name: str
    read_only: bool
    """A standby, or its transactions are read only by default."""
    encoding: str
    timezone: str
    isolation: str
    synchronous_commit: str
    fsync: bool
    autovacuum: bool
    track_counts: bool
    connections_max: int
    """That logins which are no superusers may open."""
    max_connections: int
    wal_bytes_max: int
    """What WAL grows to where nothing keeps it: `max_wal_size`."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clock of this machine before and after it asked for the server's."""

    before: datetime
    server: datetime
    after: datetime


@dataclass(frozen=True, slots=True)
class Sessions:
    """How many sessions one application has."""

    application: str
    sessions: int
    total: int
    """All applications'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Something that keeps dead rows, or WAL."""

    kind: Literal["session", "standby", "prepared", "slot"]
    pid: int | None
    name: str | None
    """A prepared transaction's, or a slot's."""
    application: str | None
    login: str | None
    state: str | None
    age: timedelta | None
    transactions: int | None
    """How many have begun since its snapshot was taken."""
    wal_bytes: int | None
    """That a slot keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotifyQueue:
    """The server's queue of notifications, and the oldest transaction of a session."""

    part: float
    """Of it that is full, from 0 to 1."""
    pid: int | None
    """None: there is no transaction, or this login may not see it; and so are the others."""
    application: str | None
    login: str | None
    database: str | None
    state: str | None
    age: timedelta | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of the schema."""

    name: str
    live: int
    dead: int
    bytes: int
    """Without indexes."""
    vacuumed_at: float
    """At so many dead rows autovacuum comes."""
    autovacuum: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """An index that is there."""

    name: str
    table: str
    valid: bool
    bytes: int
    live: int
    """Living rows of its table."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An index that the schema has, and the statement that makes it."""

    name: str
    statement: str


@dataclass(frozen=True, slots=True)
class Lead:
    """The schedulers' lead."""

    holder: str
    """Its holder, now or last; empty: there never was one."""
    lapsed: timedelta | None
    """How long ago it expired; None: it was never held, or was released."""
    held: bool
    faults: tuple[str, ...] = ()
    """Why the scheduler's row, or the autoscaler's, cannot be acquired by waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A worker that is not known to be dead."""

    id: int
    name: str
    pool: str
    slots: int
    lapsed: timedelta
    """Since the end of its lease; below zero it holds."""
    jobs: int


@dataclass(frozen=True, slots=True)
class CrashBreaker:
    """A kind of a tenant that runs alone, since its jobs have ended processes."""

    kind: str
    tenant: str
    workers: int
    """On which it does."""


@dataclass(frozen=True, slots=True)
class Unhandled:
    """A kind of which jobs wait because no worker of their pool has a handler."""

    kind: str
    jobs: int


@dataclass(frozen=True, slots=True)
class Queued:
    """What has been queued for the workers of a pool."""

    pool: str
    jobs: int
    age: timedelta
    """Of the oldest."""


@dataclass(frozen=True, slots=True)
class Run:
    """From when to when a job had a slot; None: it has it now."""

    queue: str
    tenant: str
    claimed_at: datetime | None
    """None: it never had one."""
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How this command's own connection reaches the server."""

    host: str
    local: bool
    """Over a Unix socket or the loopback address."""
    encrypted: bool
    sslmode: str
    """`prefer` where nothing sets it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFacts:
    """What only `--setup` reads."""

    history_owner: str
    schema_owner: str
    missing_roles: tuple[str, ...]
    broken_schedules: tuple[str, ...]
    over_backlog: tuple[str, ...]
    timezones: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that was read. Each view leaves what it does not read at its default."""

    server: ServerFacts
    clocks: Clocks
    sessions: tuple[Sessions, ...]
    history_days_ahead: int | None
    """For how many days after today there are partitions; -1: not even for today."""
    lead: Lead | None
    workers: tuple[Worker, ...] | None
    holders: tuple[Holder, ...] = ()
    notifications: NotifyQueue | None = None
    tables: tuple[Table, ...] = ()
    indexes: tuple[Index, ...] | None = None
    wanted: tuple[Wanted, ...] = ()
    crash_breakers: tuple[CrashBreaker, ...] = ()
    unhandled: tuple[Unhandled, ...] = ()
    queued: tuple[Queued, ...] | None = None
    queues: tuple[str, ...] | None = None
    """Those with jobs that are due, at most a thousand."""
    lanes: tuple[tuple[str, str], ...] | None = None
    """Their tenants, at most ten thousand."""
    runs: tuple[Run, ...] | None = None
    policy: Policy | None = None
    """None: there is none, or it was not read."""
    transport: Transport | None = None
    """None: it was not read."""

    @property
    def connections(self) -> int:
        """How many connections are taken."""
        return self.sessions[0].total if self.sessions else 0

    @property
    def live_workers(self) -> int:
        """How many workers hold a lease that has not expired."""
        return sum(worker.lapsed <= timedelta() for worker in self.workers or ())
