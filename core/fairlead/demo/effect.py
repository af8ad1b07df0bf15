"""What an edit of one tenant's weight led to: shares of slot-time, from who had a slot when.

Values in, values out. Times are seconds since the run began.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

IN_FORCE_SECONDS_MAX = 2.0
"""An edit is to be in force so soon after its file was saved,"""
EFFECT_SECONDS = 5.0
"""and so long after the save"""
EFFECT_LOWEST = 0.95
"""at least this part of its effect is to be there."""
_BEFORE_SECONDS = 2.0
_WINDOW_SECONDS_LOWEST = 2.0
_SAMPLES = 40


class Judged(Enum):
    """What a target makes of what was measured."""

    MET = "met"
    MISSED = "missed"
    CLOSE = "too close to tell"
    UNSEEN = "not seen"


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
    """What became of an edit. None is what there was not the time or the work to see.

    The shares are of slot-time: for two seconds before the save, and from the moment that the
    edit is in force until five seconds after the save. A single second of it would say little,
    for a few slots and jobs of up to a second.
    """

    tenant: str
    weight: float
    version: int | None
    digest: str | None
    in_force_after_seconds: float | None
    share_before: float | None
    share_after: float | None
    share_entitled: float | None
    share_of_one_job: float
    """What one more or one less of the longest jobs makes of the share after."""

    @property
    def effect(self) -> float | None:
        """How much of the way to the share that the weight entitles to was gone."""
        way = self._way
        if way is None or self.share_before is None or self.share_after is None:
            return None
        return (self.share_after - self.share_before) / way

    @property
    def effect_of_one_job(self) -> float | None:
        """How much of the way one more or one less of the longest jobs is."""
        return None if self._way is None else self.share_of_one_job / self._way

    @property
    def in_force_judged(self) -> Judged:
        """Whether it was in force soon enough."""
        after = self.in_force_after_seconds
        return (
            Judged.MET if after is not None and after <= IN_FORCE_SECONDS_MAX else Judged.MISSED
        )

    @property
    def effect_judged(self) -> Judged:
        """Whether enough of the effect was there soon enough, as far as jobs can tell."""
        there, one_job = self.effect, self.effect_of_one_job
        if there is None or one_job is None:
            return Judged.UNSEEN
        if there >= EFFECT_LOWEST:
            return Judged.MET
        return Judged.CLOSE if there + one_job >= EFFECT_LOWEST else Judged.MISSED

    @property
    def _way(self) -> float | None:
        before, entitled = self.share_before, self.share_entitled
        if before is None or entitled is None or entitled <= before:
            return None
        return entitled - before


def effect(spells: Sequence[Spell], edit: Edit) -> Effect:
    """Return what an edit led to."""
    saved, in_force = edit.saved_seconds, edit.in_force_seconds
    last = saved + EFFECT_SECONDS
    first = last if in_force is None else max(in_force, saved)
    is_seen = last - first >= _WINDOW_SECONDS_LOWEST
    entitled = share_entitled(spells, edit, first, last) if is_seen else None
    return Effect(
        tenant=edit.tenant,
        weight=edit.weight,
        version=edit.version,
        digest=edit.digest,
        in_force_after_seconds=None if in_force is None else max(0.0, in_force - saved),
        share_before=share(spells, edit.tenant, saved - _BEFORE_SECONDS, saved),
        share_after=share(spells, edit.tenant, first, last) if entitled else None,
        share_entitled=entitled,
        share_of_one_job=_share_of_one_job(spells, first, last),
    )


def share(
    spells: Sequence[Spell], tenant: str, from_seconds: float, until_seconds: float
) -> float | None:
    """Return a tenant's part of the slot-time between two moments; None if nobody had any."""
    whole = own = 0.0
    for spell in spells:
        took = _within(spell, from_seconds, until_seconds)
        whole += took
        own += took * (spell.tenant == tenant)
    return own / whole if whole else None


def _share_of_one_job(
    spells: Sequence[Spell], from_seconds: float, until_seconds: float
) -> float:
    took = [_within(spell, from_seconds, until_seconds) for spell in spells]
    whole = sum(took)
    return max(took) / whole if whole else 0.0


def _within(spell: Spell, from_seconds: float, until_seconds: float) -> float:
    begun = max(spell.began_seconds, from_seconds)
    return max(0.0, min(spell.ended_seconds, until_seconds) - begun)


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
