"""Bands: strict priority classes."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, FailFast, Field, model_validator

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel, entry_error
from fairlead.policy.value_types import shortened

BANDS_MAX = 8
PRIORITY_LOWEST, PRIORITY_HIGHEST = -100, 100


class Priorities(MappingModel):
    """The priorities that belong to a band."""

    lowest: Annotated[int, value_types.integer(PRIORITY_LOWEST, PRIORITY_HIGHEST)] = Field(
        default=PRIORITY_LOWEST, alias="from", description="Lowest priority of the band."
    )
    highest: Annotated[int, value_types.integer(PRIORITY_LOWEST, PRIORITY_HIGHEST)] = Field(
        default=PRIORITY_HIGHEST,
        alias="to",
        description="Highest priority of the band, inclusive.",
    )

    @model_validator(mode="after")
    def _is_a_range(self) -> "Priorities":
        if self.lowest > self.highest:
            raise ValueError(f"runs from {self.lowest} to {self.highest}: swap them")
        return self


class Band(MappingModel):
    """A strict priority class: its jobs go before those of all bands below it."""

    name: Annotated[str, value_types.name(what="a band's name")] = Field(
        description="Name of the band in `queues` and in metrics."
    )
    max_wait: Annotated[timedelta, value_types.duration("10ms", "720h")] | None = Field(
        default=None,
        description="How long a tenant's first job may wait in this band before it moves to "
        "the band above; required for every band but the first.",
    )
    priorities: Priorities | None = Field(
        default=None,
        description="Jobs of these priorities belong to this band, if their queue names no "
        "band; null: no job belongs to it by priority.",
    )


def _fit(bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Refuse bands that contradict each other."""
    if len(bands) < 2:
        raise ValueError("must have two bands or more, or be left out")
    for place, band in enumerate(bands):
        if band.name in {each.name for each in bands[:place]}:
            message = f"'{shortened(band.name)}' is the name of an earlier band: rename one"
            raise entry_error(message, place, "name")
        if place and band.max_wait is None:
            message = f"is missing: give it, or jobs of '{shortened(band.name)}' may starve"
            raise entry_error(message, place, "maxWait")
        if not place and band.max_wait is not None:
            message = (
                f"there is no band above '{value_types.shortened(band.name)}': leave it out"
            )
            raise entry_error(message, place, "maxWait")
        _refuse_overlap(place, bands)
    return bands


def _refuse_overlap(place: int, bands: Sequence[Band]) -> None:
    mine = bands[place].priorities
    for other in bands[:place]:
        theirs = other.priorities
        if mine is None or theirs is None:
            continue
        if mine.lowest <= theirs.highest and theirs.lowest <= mine.highest:
            lowest = max(mine.lowest, theirs.lowest)
            message = (
                f"{lowest} is one of '{shortened(other.name)}' as well: let them end apart"
            )
            raise entry_error(message, place, "priorities")


Bands = Annotated[
    tuple[Band, ...], FailFast(), Field(max_length=BANDS_MAX), AfterValidator(_fit)
]
"""The first band goes first."""
