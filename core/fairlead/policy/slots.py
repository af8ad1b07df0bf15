"""Slots: limits, reserves, and slots kept free for short jobs."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, model_validator

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel

SLOTS_MAX = 1_000_000


class Slots(MappingModel):
    """How many jobs may be in flight, and how many go before jobs of other lanes."""

    limit: Annotated[int | str, value_types.slot_count(SLOTS_MAX)] | None = Field(
        default=None,
        description="Most jobs in flight, running and queued for a worker: a number, or a "
        "percentage of all slots of the pool's live workers, rounded up and at least 1; null: "
        "no limit. While it is reached, no job is dispatched; when it is lowered, running jobs "
        "go on. The limit is exact over the whole fleet and across restarts.",
    )
    reserve: Annotated[int | str, value_types.slot_count(SLOTS_MAX)] | None = Field(
        default=None,
        description="While fewer jobs than this are in flight, the next one goes before jobs "
        "of queues and tenants that have no reserve, or have more of theirs in flight: a "
        "number or a percentage, as in `limit`; null: none. No job is stopped and no slot is "
        "kept free for it, and its jobs are charged like all others.",
    )

    @model_validator(mode="after")
    def _has_an_effect(self) -> "Slots":
        limit, reserve = self.limit, self.reserve
        if limit is None and reserve is None:
            raise ValueError("has no effect: give limit, reserve or both")
        for unit in (_count, _percent):
            most, first = unit(limit), unit(reserve)
            if most is not None and first is not None and first > most:
                raise ValueError(f"reserves {reserve} of a limit of {limit}: lower the reserve")
        return self

    @property
    def count(self) -> int | None:
        """The limit if it is a number of jobs."""
        return _count(self.limit)

    @property
    def percent(self) -> float | None:
        """The limit if it is a percentage of the pool's live slots."""
        return _percent(self.limit)

    @property
    def reserve_count(self) -> int | None:
        """The reserve if it is a number of jobs."""
        return _count(self.reserve)

    @property
    def reserve_percent(self) -> float | None:
        """The reserve if it is a percentage of the pool's live slots."""
        return _percent(self.reserve)


class ShortReserve(MappingModel):
    """Slots kept free for short jobs, so that they need not wait for long ones.

    A lane's jobs are long while one of its last ones was, or has been running for as long; so
    is a job whose `cost_hint` says so, and no hint makes one short. Other lanes may use these
    slots. One that was idle gets no more jobs than long ones may take, or half of these slots,
    before as many have ended. Lanes of which no job has ended get one job each, in half of
    these slots.
    """

    percent: Annotated[float, value_types.number(0, 90)] = Field(
        default=10.0,
        description="Percentage of the slots of the pool's live workers, rounded down. At "
        "least one slot is left for long jobs.",
    )
    min: Annotated[int, value_types.integer(0, SLOTS_MAX)] | None = Field(
        default=None,
        description="Fewest slots kept free, however few slots the pool has; null: 1 in pools "
        "with four slots or more, else 0.",
    )
    shorter_than: Annotated[timedelta, value_types.duration("1ms", "24h")] = Field(
        default=timedelta(seconds=2),
        description="Jobs that run for less than this are short.",
    )

    @model_validator(mode="after")
    def _keeps_something(self) -> "ShortReserve":
        if not self.percent and self.min == 0:
            raise ValueError("keeps nothing: give percent or min, or null for no reserve")
        return self


def _count(slots: int | str | None) -> int | None:
    return slots if isinstance(slots, int) else None


def _percent(slots: int | str | None) -> float | None:
    return float(slots.rstrip("%")) if isinstance(slots, str) else None
