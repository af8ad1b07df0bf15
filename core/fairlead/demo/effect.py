"""What an edit of one tenant's weight led to: shares of slot-time, from who had a slot when.

Values in, values out. Times are seconds since the run began.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

_BEFORE_SECONDS = 2.0
_FIFTH_SECOND = (4.0, 5.0)
_SAMPLES = 20


class Spell(NamedTuple):
    """One job's time: when it began to wait, when it had a slot, and when it gave it back."""

    tenant: str
    waiting_seconds: float
    began_seconds: float
    ended_seconds: float


class Edit(NamedTuple):
    """A tenant's weight in a policy file that was saved, and the version that came of it."""

    tenant: str
    weight: float
    saved_seconds: float
    version: int | None = None
    digest: str | None = None
    in_force_seconds: float | None = None
    """When a leader said so; None: none has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What became of an edit. None is what there was not the time or the work to see."""

    tenant: str
    weight: float
    version: int | None
    digest: str | None
    in_force_after_seconds: float | None
    share_before: float | None
    share_in_5th_second: float | None
    share_entitled: float | None

    @property
    def effect(self) -> float | None:
        """How much of the way to the share that the weight entitles to was gone."""
        before, fifth, entitled = (
            self.share_before,
            self.share_in_5th_second,
            self.share_entitled,
        )
        if before is None or fifth is None or entitled is None or entitled <= before:
            return None
        return (fifth - before) / (entitled - before)


def effect(spells: Sequence[Spell], edit: Edit) -> Effect:
    """Return what an edit led to, in the fifth second from its save on."""
    saved = edit.saved_seconds
    first, last = (saved + seconds for seconds in _FIFTH_SECOND)
    entitled = share_entitled(spells, edit, first, last)
    in_force = edit.in_force_seconds
    return Effect(
        tenant=edit.tenant,
        weight=edit.weight,
        version=edit.version,
        digest=edit.digest,
        in_force_after_seconds=None if in_force is None else max(0.0, in_force - saved),
        share_before=share(spells, edit.tenant, saved - _BEFORE_SECONDS, saved),
        share_in_5th_second=share(spells, edit.tenant, first, last) if entitled else None,
        share_entitled=entitled,
    )


def share(
    spells: Sequence[Spell], tenant: str, from_seconds: float, until_seconds: float
) -> float | None:
    """Return a tenant's part of the slot-time between two moments; None if nobody had any."""
    whole = own = 0.0
    for spell in spells:
        begun = max(spell.began_seconds, from_seconds)
        took = max(0.0, min(spell.ended_seconds, until_seconds) - begun)
        whole += took
        own += took * (spell.tenant == tenant)
    return own / whole if whole else None


def share_entitled(
    spells: Sequence[Spell], edit: Edit, from_seconds: float, until_seconds: float
) -> float | None:
    """Return what the weight entitles to beside those who have work, each of weight 1.

    None when the tenant itself had nothing waiting at some moment of it.
    """
    step = (until_seconds - from_seconds) / _SAMPLES
    found = 0.0
    for sample in range(_SAMPLES):
        now = from_seconds + (sample + 0.5) * step
        there = [s for s in spells if s.waiting_seconds <= now < s.ended_seconds]
        if not any(s.tenant == edit.tenant and now < s.began_seconds for s in there):
            return None
        found += edit.weight / (edit.weight + len({s.tenant for s in there}) - 1)
    return found / _SAMPLES
