"""Who else writes the pool's replicas: it is said, and not fought.

After a foreign write nothing of ours follows for a minute, and for twice as long each time that
it comes again soon, so that two writers do not tear a pool to and fro. While another autoscaler
targets the Deployment, we write nothing at all.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.reasons import Reason

BACK_OFF = timedelta(minutes=1)
BACK_OFF_MAX = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What `replicas` is as far as we know: by our last write, or as we found it."""

    replicas: int
    version: str
    """The Deployment's, which it was written against or found at."""
    at: datetime
    before: int
    """What stood there before the write."""
    doubtful: tuple[int, ...] = ()
    """What else we asked for at that version; of those nobody knows what became."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A foreign write, and until when we leave the pool to whoever made it."""

    until: datetime
    back_off: timedelta
    replicas: int
    owner: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of our own writes and of those of others."""

    written: Written | None = None
    conflict: Conflict | None = None

    def forbids(self, inputs: Inputs) -> Reason | None:
        """Return why we write nothing now; None: we may."""
        if inputs.deployment.autoscalers:
            return Reason.FOREIGN_AUTOSCALER
        if self.conflict is not None and inputs.now < self.conflict.until:
            return Reason.FOREIGN_WRITER
        return None


def seen(standing: Standing, inputs: Inputs) -> Standing:
    """Return what is known after a look; the same look twice changes nothing.

    A foreign write shows itself in replicas that are not ours, or in an owner that is not us:
    not every writer leaves a name. Whoever begins to look takes the replicas as found, so that
    the next foreign write differs. A look that is as old as our own last write says nothing.
    """
    written = standing.written
    if written is not None and inputs.write_failed:
        written = _doubted(written)
    deployment, former = inputs.deployment, standing.conflict
    if written is not None and written.version == deployment.version:
        return Standing(written=written, conflict=former)
    ours = written is None or deployment.replicas in {written.replicas, *written.doubtful}
    known = (
        former is not None
        and former.owner == deployment.owner
        and former.replicas == deployment.replicas
    )
    found = Written(
        replicas=deployment.replicas,
        version=deployment.version,
        at=inputs.now,
        before=deployment.replicas,
    )
    if ours and (deployment.owner is None or known):
        return Standing(written=found, conflict=former)
    conflict = Conflict(
        until=inputs.now + _back_off(former, inputs.now),
        back_off=_back_off(former, inputs.now),
        replicas=deployment.replicas,
        owner=deployment.owner,
    )
    return Standing(written=found, conflict=conflict)


def carried_out(standing: Standing, inputs: Inputs) -> bool:
    """Tell whether our last write is to be seen, though its answer was an error or was lost."""
    written, deployment = standing.written, inputs.deployment
    return (
        written is not None
        and written.version != deployment.version
        and written.replicas == deployment.replicas
    )


def _doubted(written: Written) -> Written:
    """Return what is known when nobody knows what became of our last write."""
    doubtful = (*written.doubtful, written.replicas)
    return replace(written, replicas=written.before, doubtful=doubtful)


def _back_off(former: Conflict | None, now: datetime) -> timedelta:
    if former is None or now > former.until + BACK_OFF_MAX:
        return BACK_OFF
    return min(2 * former.back_off, BACK_OFF_MAX)
