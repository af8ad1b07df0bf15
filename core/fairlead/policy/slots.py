"""What a policy may say of slots: limits, reserves, and what is kept for short jobs."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, model_validator

from fairlead.policy import kinds
from fairlead.policy.part import Part

SLOTS_MAX = 1_000_000


class Slots(Part):
    """How many jobs may be in flight at once, and how many go before those of others."""

    limit: Annotated[int | str, kinds.slot_count(SLOTS_MAX)] | None = Field(
        default=None,
        description="Jobs, running and queued for a worker, at once: a number, or a "
        "percentage of all slots of the pool's live workers, rounded up and at least 1; null: "
        "no limit. No job is dispatched while it is reached; what runs goes on when it is "
        "lowered. Exact over the whole fleet and across restarts.",
    )
    reserve: Annotated[int | str, kinds.slot_count(SLOTS_MAX)] | None = Field(
        default=None,
        description="While fewer jobs than this are in flight, the next one goes before those "
        "of everybody who has no reserve or has more of its own: a number or a percentage, as "
        "in `limit`; null: none. No job is stopped and no slot stays free for it, and what it "
        "takes is charged like anything else.",
    )

    @model_validator(mode="after")
    def _has_an_effect(self) -> "Slots":
        limit, reserve = self.limit, self.reserve
        if limit is None and reserve is None:
            raise ValueError("says nothing: give limit, reserve or both")
        for unit in (_count, _percent):
            most, first = unit(limit), unit(reserve)
            if most is not None and first is not None and first > most:
                raise ValueError(f"reserves {reserve} of a limit of {limit}: lower the reserve")
        return self

    @property
    def count(self) -> int | None:
        """The limit as a number of jobs, where it is one."""
        return _count(self.limit)

    @property
    def percent(self) -> float | None:
        """The limit as a percentage of the pool's live slots, where it is one."""
        return _percent(self.limit)

    @property
    def reserve_count(self) -> int | None:
        """The reserve as a number of jobs, where it is one."""
        return _count(self.reserve)

    @property
    def reserve_percent(self) -> float | None:
        """The reserve as a percentage of the pool's live slots, where it is one."""
        return _percent(self.reserve)


class ShortReserve(Part):
    """Slots that jobs which may be long leave free, so that short ones need not wait for them.

    A job is short by its lane's mean run time or, where it has one, by its `cost_hint`. Of a
    lane that nothing is known of one job at a time counts as short. A job that runs for longer
    counts as long from then on.
    """

    percent: Annotated[float, kinds.number(0, 90)] = Field(
        default=10.0,
        description="How many of the slots of the pool's live workers, in percent, rounded "
        "down. One slot at least is left for long jobs.",
    )
    min: Annotated[int, kinds.whole(0, SLOTS_MAX)] = Field(
        default=1, description="How many slots at least, however few there are."
    )
    shorter_than: Annotated[timedelta, kinds.duration("1ms", "24h")] = Field(
        default=timedelta(seconds=2),
        description="Jobs that are expected to run for a shorter time than this are short.",
    )

    @model_validator(mode="after")
    def _keeps_something(self) -> "ShortReserve":
        if not self.percent and not self.min:
            raise ValueError("keeps nothing: give percent or min, or leave it out")
        return self


def _count(slots: int | str | None) -> int | None:
    return slots if isinstance(slots, int) else None


def _percent(slots: int | str | None) -> float | None:
    return float(slots.rstrip("%")) if isinstance(slots, str) else None
