"""What the doctor read, as values. None stands for what this login may not see."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from fairlead.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The server's clock and settings."""

    now: datetime
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
    """Who holds it or did last; empty: nobody ever did."""
    lapsed: timedelta | None
    """Since when; None: nobody ever had it, or its holder gave it up."""
    held: bool


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
class Facts:
    """All that was read."""

    server: Server
    clocks: Clocks
    sessions: tuple[Sessions, ...]
    holders: tuple[Holder, ...]
    tables: tuple[Table, ...]
    indexes: tuple[Index, ...] | None
    wanted: tuple[Wanted, ...]
    history_days_ahead: int | None
    """For how many days after today there are partitions; -1: not even for today."""
    lead: Lead | None
    workers: tuple[Worker, ...] | None
    queued: tuple[Queued, ...] | None
    queues: tuple[str, ...] | None
    """Those with jobs that are due, at most a thousand."""
    lanes: tuple[tuple[str, str], ...] | None
    """Their tenants, at most ten thousand."""
    runs: tuple[Run, ...] | None
    policy: Policy | None
    """None: there is none, or it was not read."""
