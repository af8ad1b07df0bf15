"""The shadow: another policy that the leader simulates beside the one in force."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel


class Shadow(MappingModel):
    """A stored policy that the leader simulates periodically and never applies."""

    version: Annotated[int | str, value_types.version_reference()] = Field(
        description="Its number in `fairlead policy history`, or its digest. If no such policy "
        "is stored, `fairlead policy shadow` reports it, and nothing else changes."
    )
    every: Annotated[timedelta, value_types.duration("10s", "24h")] = Field(
        default=timedelta(seconds=60),
        description="How often it is simulated. Each simulation takes a few seconds of one "
        "core at the lowest priority, and bounded reads of the database.",
    )
