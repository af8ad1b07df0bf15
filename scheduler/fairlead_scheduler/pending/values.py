"""Values of pending jobs: streams, heads, and how many of them to prefetch.

Times are microseconds of the database's clock since 1970; durations are microseconds. Values
made once per job are tuples, which cost a third of a dataclass; a plain tuple a fifth of that.
"""

from dataclasses import dataclass
from typing import NamedTuple

Stream = tuple[str, str, int]
"""Queue, tenant and rank: one ordered run of jobs in the lane index."""


Paused = frozenset[tuple[str, str | None]]
"""Paused queues, as (queue, None), and paused tenants of queues, as (queue, tenant)."""


NOTHING_PAUSED: Paused = frozenset()


class Head(NamedTuple):
    """A pending job at the head of its stream."""

    id: int
    seq: int
    hint_us: int | None
    """The producer's `cost_hint`."""
    seen_us: int | None
    """When the leader first saw the job; None: unknown. Passed through."""


AnyHead = tuple[int, int, int | None, int | None]
"""A `Head`, or a plain tuple of its values, which costs a fifth when thousands are read."""


class PendingJob(NamedTuple):
    """A pending job with its stream, as the tail, a probe, a sweep or a promotion finds it."""

    id: int
    seq: int
    queue: str
    tenant: str
    rank: int
    hint_us: int | None
    seen_us: int | None


class HeadRequest(NamedTuple):
    """A request for up to `limit` jobs of `stream` with `seq > after_seq`, by `seq`."""

    stream: Stream
    after_seq: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsSettings:
    """How many heads to prefetch."""

    first: int = 64
    """Heads requested for a new stream; fewer when there are thousands of streams."""
    lowest: int = 12
    """Heads kept for a stream that hardly moves."""
    per_stream_max: int = 2048
    """Heads kept for a stream that drains as fast as it is filled."""
    budget: int = 200_000
    """Heads kept in all; about 200 bytes each."""
    tenant_streams_max: int = 20_000
    """Streams with pending jobs that a tenant may have; a new one takes about 5 kB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailSettings:
    """How holes in the sequence of ids are probed."""

    ranges_max: int = 1000
    doubtful_max: int = 200_000
    """Ids that are asked about one by one; about 350 bytes each."""
    marks_max: int = 1024
    interval_first_us: int = 10_000
    interval_max_us: int = 100_000
    doubt_interval_max_us: int = 1_000_000
