"""Who writes to Kubernetes: one controller at a time, by a Lease that it renews.

The rules are client-go's, with other numbers. Who leads renews the record; who waits takes it
when it has seen the record unchanged for as long as the record says. Only changes that were
seen count, each by the observer's own clock: no clock of two machines is ever compared, and
the times in the record are for people.

A holder trusts its Lease from when it *began* the last write that succeeded, and for less long
than others wait. So it stops before anybody else may begin, by the difference of the two, even
if its write was on its way for long. The record's version makes each write conditional: one
that arrives late changes nothing.

Nothing fences the cluster itself. A holder that looks at its trust, is frozen, and thaws after
another took over, may still send one request: those carry a version of their own.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

_RELEASED_SECONDS = 1
"""How long a released record says that it holds, for those who do not look at its holder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """How long a Lease holds, in seconds; renew > retry, lease > renew."""

    lease_seconds: int = 10
    """How long the record must be seen unchanged before another takes it."""
    renew_seconds: float = 6.0
    """How long a holder trusts its last renewal."""
    retry_seconds: float = 1.0
    """How long everybody rests between two tries."""
    jitter: float = 0.2
    """By how large a share of that a rest may be longer."""

    @property
    def call_seconds(self) -> float:
        """How long one call may take: two of them fit into the time that a holder has."""
        return self.renew_seconds / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The record."""

    version: str
    """The resource version that a write is conditional on."""
    holder: str = ""
    """Empty: nobody's."""
    duration_seconds: int = 0
    transitions: int = 0
    """How often it went to another holder."""
    acquired_at: datetime | None = None
    renewed_at: datetime | None = None


class Next(Enum):
    """What to do now."""

    READ = "read"
    WRITE = "write"
    REST = "rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """What one candidate knows. Times are seconds of its own monotonic clock."""

    identity: str
    """Unique to the process, so that a restarted one never takes itself for the holder."""
    timing: Timing = field(default_factory=Timing)
    observed: Lease | None = None
    """The record as it was last seen; None: it must be read before anything is written."""
    changed_at: float = 0.0
    """When it was first seen as it is."""
    fresh: bool = False
    """Whether it was read or written since the last rest or failure."""
    begun_at: float | None = None
    """When the last write that made or kept us the holder was begun; None: we are not."""

    @property
    def trusted_until(self) -> float | None:
        """Until when we may write to the cluster; None: we may not."""
        return None if self.begun_at is None else self.begun_at + self.timing.renew_seconds

    def leads(self, now: float) -> bool:
        """Tell whether we may write to the cluster now."""
        until = self.trusted_until
        return until is not None and now < until

    @property
    def expires_at(self) -> float | None:
        """When the record may be taken from its holder; None: there is nothing to wait for."""
        if self.observed is None or not self.observed.holder:
            return None
        return self.changed_at + self.observed.duration_seconds


def following(election: Election, now: float) -> Next:
    """Return what to do now: a holder writes without reading first, as its version is right.

    The others read each time, and write when the record that they have just read is free.
    """
    lease = election.observed
    if lease is None:
        return Next.READ
    if lease.holder == election.identity:
        return Next.REST if election.fresh and election.begun_at is not None else Next.WRITE
    if not election.fresh:
        return Next.READ
    expires_at = election.expires_at
    return Next.WRITE if expires_at is None or now >= expires_at else Next.REST


def claim(election: Election, at: datetime) -> Lease:
    """Return the record to write: a renewal of ours, or a take-over.

    Args:
        election: One that `following` sent to write.
        at: The time of day, for people.
    """
    lease = election.observed
    assert lease is not None
    ours = lease.holder == election.identity
    return Lease(
        version=lease.version,
        holder=election.identity,
        duration_seconds=election.timing.lease_seconds,
        transitions=lease.transitions if ours else lease.transitions + 1,
        acquired_at=lease.acquired_at if ours else at,
        renewed_at=at,
    )


def seen(election: Election, lease: Lease, now: float) -> Election:
    """Return what is known after a read.

    Args:
        election: What was known.
        lease: What was read.
        now: When the answer was there; when it was asked for would be too early to count from.
    """
    known = election.observed
    if known is not None and known.version == lease.version:
        return replace(election, fresh=True)
    if lease.holder == election.identity:
        # It holds a write of ours whose answer was lost: only another one gives trust.
        return replace(election, observed=lease, changed_at=now, fresh=False)
    return replace(election, observed=lease, changed_at=now, fresh=True, begun_at=None)


def written(election: Election, lease: Lease, *, begun_at: float, now: float) -> Election:
    """Return what is known after a write that succeeded.

    Args:
        election: What was known.
        lease: The record as the answer gave it.
        begun_at: When the write was begun, which is what it is trusted from.
        now: When the answer was there.
    """
    return replace(election, observed=lease, changed_at=now, fresh=True, begun_at=begun_at)


def failed(election: Election) -> Election:
    """Return what is known after a call that failed, or of which nobody knows what became.

    The trust stays as it was: it ends by itself. What is in the record must be read again,
    and reading it unchanged does not begin anybody's time anew.
    """
    return replace(election, fresh=False)


def conflicted(election: Election) -> Election:
    """Return what is known after a write that was refused: somebody changed the record."""
    return replace(election, observed=None, fresh=False)


def rested(election: Election) -> Election:
    """Return what is known after a rest: the record may have changed."""
    return replace(election, fresh=False)


def rest_seconds(election: Election, now: float, chance: float) -> float:
    """Return how long to rest: not beyond the moment at which the record may be taken.

    Args:
        election: What is known.
        now: The present.
        chance: From 0 to 1, at random: candidates that began together draw apart.
    """
    timing = election.timing
    rest = timing.retry_seconds * (1 + timing.jitter * chance)
    expires_at = election.expires_at
    lease = election.observed
    waits = lease is not None and lease.holder != election.identity
    if waits and expires_at is not None and expires_at > now:
        return min(rest, expires_at - now)
    return rest


def release(election: Election, at: datetime) -> Lease | None:
    """Return the record that gives the Lease away; None: it is not ours.

    It is written after the last write to the cluster, and `released` is called before it.
    """
    lease = election.observed
    if lease is None or lease.holder != election.identity:
        return None
    return replace(lease, holder="", duration_seconds=_RELEASED_SECONDS, renewed_at=at)


def released(election: Election) -> Election:
    """Return what is known once the Lease is given away: there is no more trust in it."""
    return replace(election, begun_at=None)
