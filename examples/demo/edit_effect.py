"""What an edit of some tenants' weight led to: shares of slot-time, from who had a slot when.

Values in, values out. Times are seconds since the run began.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import sqrt
from typing import NamedTuple

IN_FORCE_SECONDS_MAX = 2.0
"""An edit is to be in force so soon after its file was saved,"""
EFFECT_SECONDS = 5.0
"""and so long after the save"""
EFFECT_LOWEST = 0.95
"""at least this part of its effect is to be there."""
_BEFORE_SECONDS = 3.0
_FIRST_SECONDS = 3.0
"""The effect is looked at from so long after the save: what came later than the fifth second
would be missing in it."""
_SECONDS_LOWEST = 4.0
_PARTS = 6
_STUDENT = 2.02
"""Student's t for so many parts less one: 95 % sure that what is sought is not below the
interval, and 95 % that it is not above."""
_SAMPLES = 40


class TargetStatus(Enum):
    """What a target makes of what was measured."""

    MET = "met"
    MISSED = "missed"
    CLOSE = "too close to tell"
    UNSEEN = "not seen"


class Spell(NamedTuple):
    """One job's time: when it began to wait, when it had a slot, and when it gave it back.

    Of a job that has no slot yet, and of one that still has it, what is to come is infinite.
    """

    tenant: str
    waiting_seconds: float
    began_seconds: float
    ended_seconds: float


class Edit(NamedTuple):
    """A weight of some tenants in a policy file that was saved, and what came of it."""

    tenants: tuple[str, ...]
    weight: float
    saved_seconds: float
    version: int | None = None
    digest: str | None = None
    in_force_seconds: float | None = None
    """When a leader said so; None: none has."""
    undone_seconds: float | None = None
    """When the file was saved as it had been."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What became of an edit. None is what there was not the time or the work to see.

    The shares are of slot-time: for three seconds before the save, and from three seconds
    after it until it was undone.
    """

    tenants: tuple[str, ...]
    weight: float
    version: int | None
    digest: str | None
    in_force_after_seconds: float | None
    share_before: float | None
    share_after: float | None
    share_entitled: float | None
    share_give_or_take: float | None
    """So far below the share after may the one be that a longer look would find, or so far
    above; each of them is 95 % sure."""
    jobs_after: int
    """How many jobs had a slot in that time."""

    @property
    def effect(self) -> float | None:
        """How much of the way to the share that the weight entitles to was gone."""
        way = self._way
        if way is None or self.share_before is None or self.share_after is None:
            return None
        return (self.share_after - self.share_before) / way

    @property
    def give_or_take(self) -> float | None:
        """How far from the effect the one may be that a longer look would find."""
        if self._way is None or self.share_give_or_take is None:
            return None
        return self.share_give_or_take / self._way

    @property
    def in_force_status(self) -> TargetStatus:
        """Whether it was in force soon enough."""
        after = self.in_force_after_seconds
        return (
            TargetStatus.MET
            if after is not None and after <= IN_FORCE_SECONDS_MAX
            else TargetStatus.MISSED
        )

    @property
    def effect_status(self) -> TargetStatus:
        """Whether enough of the effect was there soon enough, as far as a sample can tell."""
        there, give_or_take = self.effect, self.give_or_take
        if there is None or give_or_take is None:
            return TargetStatus.UNSEEN
        if there - give_or_take >= EFFECT_LOWEST:
            return TargetStatus.MET
        return (
            TargetStatus.CLOSE if there + give_or_take >= EFFECT_LOWEST else TargetStatus.MISSED
        )

    @property
    def _way(self) -> float | None:
        before, entitled = self.share_before, self.share_entitled
        if before is None or entitled is None or entitled <= before:
            return None
        return entitled - before


def effect(spells: Sequence[Spell], edit: Edit, now_seconds: float) -> Effect:
    """Return what an edit has led to by now."""
    saved, in_force = edit.saved_seconds, edit.in_force_seconds
    first = saved + _FIRST_SECONDS
    last = now_seconds if edit.undone_seconds is None else edit.undone_seconds
    is_seen = in_force is not None and last - first >= _SECONDS_LOWEST
    entitled = share_entitled(spells, edit, first, last) if is_seen else None
    return Effect(
        tenants=edit.tenants,
        weight=edit.weight,
        version=edit.version,
        digest=edit.digest,
        in_force_after_seconds=None if in_force is None else max(0.0, in_force - saved),
        share_before=share(spells, edit.tenants, saved - _BEFORE_SECONDS, saved),
        share_after=share(spells, edit.tenants, first, last) if entitled else None,
        share_entitled=entitled,
        share_give_or_take=(
            _give_or_take(spells, edit.tenants, first, last) if entitled else None
        ),
        jobs_after=sum(_within(spell, first, last) > 0 for spell in spells),
    )


def share(
    spells: Sequence[Spell], tenants: Sequence[str], from_seconds: float, until_seconds: float
) -> float | None:
    """Return tenants' part of the slot-time between two moments; None if no tenant had any."""
    own, whole = _slot_seconds(spells, tenants, from_seconds, until_seconds)
    return own / whole if whole else None


def _slot_seconds(
    spells: Sequence[Spell], tenants: Sequence[str], from_seconds: float, until_seconds: float
) -> tuple[float, float]:
    """Return the slot-time that some tenants had, and what all had together."""
    whole = own = 0.0
    for spell in spells:
        took = _within(spell, from_seconds, until_seconds)
        whole += took
        own += took * (spell.tenant in tenants)
    return own, whole


def _within(spell: Spell, from_seconds: float, until_seconds: float) -> float:
    begun = max(spell.began_seconds, from_seconds)
    return max(0.0, min(spell.ended_seconds, until_seconds) - begun)


def _give_or_take(
    spells: Sequence[Spell], tenants: Sequence[str], from_seconds: float, until_seconds: float
) -> float | None:
    """Return half the width of the interval about a share, from its parts' shares.

    The batch means of simulation: parts that are long beside a job hardly hang together. What
    a fair queue owes in one part it gives in the next, so that this is rather too wide.
    """
    step = (until_seconds - from_seconds) / _PARTS
    begins = [from_seconds + index * step for index in range(_PARTS)]
    parts = [_slot_seconds(spells, tenants, begin, begin + step) for begin in begins]
    whole = sum(part for _, part in parts)
    if not whole:
        return None
    mean = sum(own for own, _ in parts) / whole
    squares = sum((own - mean * part) ** 2 for own, part in parts)
    return _STUDENT * sqrt(_PARTS * squares / (_PARTS - 1)) / whole


def share_entitled(
    spells: Sequence[Spell], edit: Edit, from_seconds: float, until_seconds: float
) -> float | None:
    """Return what the weight entitles to beside those who have work, each of weight 1.

    None when one of the tenants itself had nothing waiting at some moment of it.
    """
    step = (until_seconds - from_seconds) / _SAMPLES
    found = 0.0
    own = edit.weight * len(edit.tenants)
    for sample in range(_SAMPLES):
        now = from_seconds + (sample + 0.5) * step
        there = [s for s in spells if s.waiting_seconds <= now < s.ended_seconds]
        waiting = {s.tenant for s in there if now < s.began_seconds}
        if not waiting.issuperset(edit.tenants):
            return None
        found += own / (own + len({s.tenant for s in there} - set(edit.tenants)))
    return found / _SAMPLES
