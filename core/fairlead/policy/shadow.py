"""What a policy may say of another one that is simulated beside it."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from fairlead.policy import kinds
from fairlead.policy.part import Part


class Shadow(Part):
    """A stored policy that the leader simulates again and again, and never obeys."""

    version: Annotated[int | str, kinds.stored()] = Field(
        description="Which one: its number in `fairlead policy history`, or its digest. Where "
        "there is none, `fairlead policy shadow` says so, and everything else goes on."
    )
    every: Annotated[timedelta, kinds.duration("10s", "24h")] = Field(
        default=timedelta(seconds=60),
        description="How often. Each time costs a few seconds of one core at the lowest "
        "priority, and reads of the database that have bounds.",
    )
