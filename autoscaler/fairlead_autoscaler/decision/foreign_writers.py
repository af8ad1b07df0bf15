"""Detect other writers of the pool's `replicas`, report them, and back off.

After a foreign write we write nothing for a minute, and twice as long each time it soon happens
again, so that two writers do not pull a pool back and forth. While another autoscaler targets
the workload, we write nothing at all.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.targets import Removal

BACK_OFF = timedelta(minutes=1)
BACK_OFF_MAX = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownReplicas:
    """What `replicas` is as far as we know: from our last write, or as found."""

    replicas: int
    version: str
    """The workload's resource version that it was written against or found at."""
    at: datetime
    before: int
    """The value before the write."""
    uncertain: tuple[int, ...] = ()
    """Other values that we wrote at that version without learning the outcome."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignWrite:
    """A foreign write, and until when we back off."""

    until: datetime
    back_off: timedelta
    replicas: int
    owner: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterState:
    """What is known of our own writes and of others'."""

    written: KnownReplicas | None = None
    conflict: ForeignWrite | None = None

    def reason_to_wait(self, inputs: Inputs) -> Reason | None:
        """Return why we must not write now; None: we may."""
        if inputs.autoscalers:
            return Reason.FOREIGN_AUTOSCALER
        if self.conflict is not None and inputs.now < self.conflict.until:
            return Reason.FOREIGN_WRITER
        return None


def observed(writers: WriterState, inputs: Inputs) -> WriterState:
    """Return what is known after one reading; the same reading twice changes nothing.

    A foreign write shows as replicas that are not ours or as an owner that is not us, since
    not every writer leaves a name. A new leader adopts the replicas as found, so that the next
    foreign write differs. A reading as old as our own last write proves nothing. Pods that end
    by themselves have no replicas that somebody could write.
    """
    if inputs.workload.removal is Removal.BY_THEMSELVES:
        return WriterState()
    written = writers.written
    if written is not None and inputs.write_failed:
        written = _uncertain_write(written)
    workload, former = inputs.workload, writers.conflict
    if written is not None and written.version == workload.version:
        return WriterState(written=written, conflict=former)
    ours = written is None or workload.replicas in {written.replicas, *written.uncertain}
    known = (
        former is not None
        and former.owner == workload.owner
        and former.replicas == workload.replicas
    )
    found = KnownReplicas(
        replicas=workload.replicas,
        version=workload.version,
        at=inputs.now,
        before=workload.replicas,
    )
    if ours and (workload.owner is None or known):
        return WriterState(written=found, conflict=former)
    conflict = ForeignWrite(
        until=inputs.now + _back_off(former, inputs.now),
        back_off=_back_off(former, inputs.now),
        replicas=workload.replicas,
        owner=workload.owner,
    )
    return WriterState(written=found, conflict=conflict)


def has_taken_effect(writers: WriterState, inputs: Inputs) -> bool:
    """Return whether our last write is visible, although its answer failed or was lost."""
    written, workload = writers.written, inputs.workload
    return (
        written is not None
        and written.version != workload.version
        and written.replicas == workload.replicas
    )


def _uncertain_write(written: KnownReplicas) -> KnownReplicas:
    """Return what is known when the outcome of our last write is unknown."""
    uncertain = (*written.uncertain, written.replicas)
    return replace(written, replicas=written.before, uncertain=uncertain)


def _back_off(former: ForeignWrite | None, now: datetime) -> timedelta:
    if former is None or now > former.until + BACK_OFF_MAX:
        return BACK_OFF
    return min(2 * former.back_off, BACK_OFF_MAX)
