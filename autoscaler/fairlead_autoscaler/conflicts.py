"""Who else writes the pool's replicas: it is said, and not fought.

After a foreign write nothing of ours follows for a minute, and for twice as long each time that
it comes again soon, so that two writers do not tear a pool to and fro. While another autoscaler
targets the Deployment, we write nothing at all.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from fairlead_autoscaler.inputs import Inputs
from fairlead_autoscaler.reasons import Reason

BACK_OFF = timedelta(minutes=1)
BACK_OFF_MAX = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Our last write of `replicas`, and the Deployment's version that it was made against."""

    replicas: int
    version: str
    at: datetime


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

    A foreign write shows itself in replicas that are not ours, or in an owner that is not us.
    A look that is as old as our own last write says nothing.
    """
    written = None if inputs.write_failed else standing.written
    deployment, former = inputs.deployment, standing.conflict
    if written is not None and written.version == deployment.version:
        return Standing(written=written, conflict=former)
    ours = written is None or written.replicas == deployment.replicas
    known = (
        former is not None
        and former.owner == deployment.owner
        and former.replicas == deployment.replicas
    )
    if ours and (deployment.owner is None or known):
        return Standing(written=written, conflict=former)
    conflict = Conflict(
        until=inputs.now + _back_off(former, inputs.now),
        back_off=_back_off(former, inputs.now),
        replicas=deployment.replicas,
        owner=deployment.owner,
    )
    adopted = Written(replicas=deployment.replicas, version=deployment.version, at=inputs.now)
    return Standing(written=adopted, conflict=conflict)


def _back_off(former: Conflict | None, now: datetime) -> timedelta:
    if former is None or now > former.until + BACK_OFF_MAX:
        return BACK_OFF
    return min(2 * former.back_off, BACK_OFF_MAX)
