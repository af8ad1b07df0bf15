"""Who writes to Kubernetes: one controller at a time, by a Lease that it renews.

The rules are client-go's, with other numbers. The holder renews the record; another candidate
acquires it once it has seen the record unchanged for the duration that the record states. Only
observed changes count, each on the observer's own clock: clocks of two machines are never
compared, and the times in the record are for people.

A holder trusts its Lease from when it *began* the last write that succeeded, and for less time
than others wait. So it stops before another may begin, by the difference of the two, even if
its write was delayed for long. The record's version makes each write conditional: a late one
changes nothing.

A record that is missing is created: by its holder at once, while the holder still trusts it,
and by another candidate once it has seen none for as long as a Lease lasts, since the record
that was deleted may have had a holder. Only one of two creations succeeds.

Nothing fences the cluster itself. A holder that checks its trust, is frozen, and thaws after
another took over may still send one request; those carry a version of their own.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum

_RELEASED_SECONDS = 1
"""The duration that a released record states, for readers that ignore its holder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The durations of a Lease, in seconds; renew > retry, lease > renew."""

    lease_seconds: int = 10
    """How long the record must be seen unchanged before another candidate acquires it."""
    renew_seconds: float = 6.0
    """How long a holder trusts its last renewal."""
    retry_seconds: float = 1.0
    """The rest between two tries, for holders and candidates."""
    jitter: float = 0.2
    """By which share of that a rest may be longer."""

    @property
    def call_seconds(self) -> float:
        """The time limit of one call: two calls fit into a holder's trust."""
        return self.renew_seconds / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The record."""

    version: str
    """The resource version that a write is conditional on."""
    holder: str = ""
    """Empty: no holder."""
    duration_seconds: int = 0
    transitions: int = 0
    """How often the Lease changed hands."""
    acquired_at: datetime | None = None
    renewed_at: datetime | None = None


class NextStep(Enum):
    """What to do next."""

    READ = "read"
    WRITE = "write"
    CREATE = "create"
    REST = "rest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Election:
    """What one candidate knows. Times are seconds of its own monotonic clock."""

    identity: str
    """Unique to the process, so that a restarted one never mistakes itself for the holder."""
    timing: Timing = field(default_factory=Timing)
    observed: Lease | None = None
    """The record as last seen; None: it must be read before a write, or it is missing."""
    missing_since: float | None = None
    """Since when there has been no record, as far as was seen; None: there is one, or it is
    not known."""
    transitions: int = 0
    """How often the Lease had changed hands when the record was last seen: one that is created
    anew counts on."""
    changed_at: float = 0.0
    """When the record was first seen in its present version."""
    fresh: bool = False
    """Whether it was read or written since the last rest or failure."""
    started_at: float | None = None
    """When the last acquiring or renewing write was begun; None: we are not the holder."""

    @property
    def trusted_until(self) -> float | None:
        """Until when we may write to the cluster; None: we may not."""
        return None if self.started_at is None else self.started_at + self.timing.renew_seconds

    def is_leader(self, now: float) -> bool:
        """Return whether we may write to the cluster now."""
        until = self.trusted_until
        return until is not None and now < until

    def is_led(self, now: float) -> bool:
        """Return whether somebody is known to lead: we do, or another's record is alive."""
        if self.observed is None or self.observed.holder == self.identity:
            return self.is_leader(now)
        return self.expires_at is not None and now < self.expires_at

    @property
    def expires_at(self) -> float | None:
        """When another may acquire or create the record; None: it may be acquired at once."""
        if self.missing_since is not None:
            return self.missing_since + self.timing.lease_seconds
        if self.observed is None or not self.observed.holder:
            return None
        return self.changed_at + self.observed.duration_seconds


def next_step(election: Election, now: float) -> NextStep:
    """Return what to do: a holder writes without reading first, as it knows the version.

    The others read each time, and write if the record they have just read may be acquired.
    """
    lease = election.observed
    if lease is None:
        return _next_without_record(election, now)
    if lease.holder == election.identity:
        return (
            NextStep.REST
            if election.fresh and election.started_at is not None
            else NextStep.WRITE
        )
    if not election.fresh:
        return NextStep.READ
    expires_at = election.expires_at
    return NextStep.WRITE if expires_at is None or now >= expires_at else NextStep.REST


def _next_without_record(election: Election, now: float) -> NextStep:
    """Return whether to create a record that has just been seen to be missing."""
    if not election.fresh or election.expires_at is None:
        return NextStep.READ
    may_create = election.is_leader(now) or now >= election.expires_at
    return NextStep.CREATE if may_create else NextStep.REST


def record_to_write(election: Election, at: datetime) -> Lease:
    """Return the record that renews our Lease, acquires it, or creates one of ours.

    Args:
        election: One for which `next_step` returned WRITE or CREATE.
        at: The time of day, for people.
    """
    lease = election.observed
    is_ours = lease is not None and lease.holder == election.identity
    return Lease(
        version=lease.version if lease is not None else "",
        holder=election.identity,
        duration_seconds=election.timing.lease_seconds,
        transitions=election.transitions if is_ours else election.transitions + 1,
        acquired_at=lease.acquired_at if lease is not None and is_ours else at,
        renewed_at=at,
    )


def after_read(election: Election, lease: Lease, now: float) -> Election:
    """Return what is known after a read.

    Args:
        election: What was known.
        lease: What was read.
        now: When the answer arrived; the time of the request would start the wait too early.
    """
    known = election.observed
    if known is not None and known.version == lease.version:
        return replace(election, fresh=True)
    if lease.holder == election.identity:
        # Our write succeeded but its answer was lost: only another write gives trust.
        return replace(_seen(election, lease, now), fresh=False)
    return replace(_seen(election, lease, now), started_at=None)


def after_missing(election: Election, now: float) -> Election:
    """Return what is known after a read or a write that found no record.

    A holder's trust stays: nobody else creates a record until it is over.
    """
    since = now if election.missing_since is None else election.missing_since
    return replace(election, observed=None, missing_since=since, fresh=True)


def after_write(election: Election, lease: Lease, *, started_at: float, now: float) -> Election:
    """Return what is known after a write that succeeded.

    Args:
        election: What was known.
        lease: The record as answered.
        started_at: When the write was begun, from which on it is trusted.
        now: When the answer arrived.
    """
    return replace(_seen(election, lease, now), started_at=started_at)


def after_failure(election: Election) -> Election:
    """Return what is known after a call that failed or whose outcome is unknown.

    The trust stays as it was, and expires by itself. The record must be read again; reading
    it unchanged restarts no wait. A record that was missing may have come and gone meanwhile.
    """
    return replace(election, fresh=False, missing_since=None)


def after_conflict(election: Election) -> Election:
    """Return what is known after a write was refused: the record was changed, or created."""
    return replace(election, observed=None, missing_since=None, fresh=False)


def after_rest(election: Election) -> Election:
    """Return what is known after a rest: the record may have changed."""
    return replace(election, fresh=False)


def rest_seconds(election: Election, now: float, chance: float) -> float:
    """Return how long to rest: not beyond the moment at which the record may be acquired.

    Args:
        election: What is known.
        now: The present.
        chance: From 0 to 1, at random: candidates that started together spread out.
    """
    timing = election.timing
    rest = timing.retry_seconds * (1 + timing.jitter * chance)
    expires_at = election.expires_at
    lease = election.observed
    waits = lease is None or lease.holder != election.identity
    if waits and expires_at is not None and expires_at > now:
        return min(rest, expires_at - now)
    return rest


def release(election: Election, at: datetime) -> Lease | None:
    """Return the record that releases the Lease; None: it is not ours.

    It is written after the last write to the cluster, and `after_release` is called before.
    """
    lease = election.observed
    if lease is None or lease.holder != election.identity:
        return None
    return replace(lease, holder="", duration_seconds=_RELEASED_SECONDS, renewed_at=at)


def after_release(election: Election) -> Election:
    """Return what is known once the Lease is released: it is no longer trusted."""
    return replace(election, started_at=None)


def _seen(election: Election, lease: Lease, now: float) -> Election:
    """Return what is known of a record that is new to us."""
    return replace(
        election,
        observed=lease,
        changed_at=now,
        fresh=True,
        missing_since=None,
        transitions=lease.transitions,
    )
