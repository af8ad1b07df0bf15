"""Strict bands: what a policy may say of them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, FailFast, Field, model_validator

from fairlead.policy import kinds
from fairlead.policy.part import Part, misfit

BANDS_MAX = 8
PRIORITY_LOWEST, PRIORITY_HIGHEST = -100, 100


class Priorities(Part):
    """Which priorities belong to a band."""

    lowest: Annotated[int, kinds.whole(PRIORITY_LOWEST, PRIORITY_HIGHEST)] = Field(
        default=PRIORITY_LOWEST, alias="from", description="The lowest priority of the band."
    )
    highest: Annotated[int, kinds.whole(PRIORITY_LOWEST, PRIORITY_HIGHEST)] = Field(
        default=PRIORITY_HIGHEST,
        alias="to",
        description="The highest priority of the band; it belongs to it.",
    )

    @model_validator(mode="after")
    def _is_a_range(self) -> "Priorities":
        if self.lowest > self.highest:
            raise ValueError(f"runs from {self.lowest} to {self.highest}: swap them")
        return self


class Band(Part):
    """A band: its jobs go before those of the bands below it, whatever is fair."""

    name: Annotated[str, kinds.name(what="a band's name")] = Field(
        description="What queues and metrics call it."
    )
    max_wait: Annotated[timedelta, kinds.duration("10ms", "720h")] | None = Field(
        default=None,
        description="How long the first job of a tenant may wait here before it goes to the "
        "band above; required but for the first band, which has none above.",
    )
    priorities: Priorities | None = Field(
        default=None,
        description="Which jobs of queues that name no band belong here; null: none by their "
        "priority.",
    )


def _fit(bands: tuple[Band, ...]) -> tuple[Band, ...]:
    """Refuse bands that contradict each other."""
    if len(bands) < 2:
        raise ValueError("must have two bands or more, or be left out")
    for place, band in enumerate(bands):
        if band.name in {each.name for each in bands[:place]}:
            said = f"'{kinds.cut(band.name)}' is the name of an earlier band: rename one"
            raise misfit(said, place, "name")
        if place and band.max_wait is None:
            said = f"is missing: give it, or jobs of '{kinds.cut(band.name)}' may starve"
            raise misfit(said, place, "maxWait")
        if not place and band.max_wait is not None:
            said = f"there is no band above '{kinds.cut(band.name)}': leave it out"
            raise misfit(said, place, "maxWait")
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
            said = f"{lowest} is one of '{kinds.cut(other.name)}' as well: let them end apart"
            raise misfit(said, place, "priorities")


Bands = Annotated[
    tuple[Band, ...], FailFast(), Field(max_length=BANDS_MAX), AfterValidator(_fit)
]
"""From the one that goes first to the one that goes last."""
