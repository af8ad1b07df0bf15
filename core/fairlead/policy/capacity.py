"""What a policy may say of how far ahead of the workers jobs are dispatched."""

from typing import Annotated

from pydantic import Field

from fairlead.policy import kinds
from fairlead.policy.part import Part

DEPTH_MAX = 100_000


class Capacity(Part):
    """How many jobs may be dispatched and wait for a worker.

    How many do follows how fast workers claim: what they take within two looks of the leader,
    beside the slots that are free. This is only the most.
    """

    depth_ceiling: Annotated[int, kinds.whole(1, DEPTH_MAX)] | None = Field(
        default=None,
        description="Jobs of a pool that may be queued for a worker at once; null: the "
        "scheduler's FAIRLEAD_QUEUED_MAX, 2000 by default. Less recalls nothing: workers take "
        "what is there. A ceiling below what workers take between two looks leaves slots free. "
        "Jobs that go before queued ones, and those of reserves, go past it by at most the "
        "pool's slots; `fairlead_scheduler_overflow` counts them.",
    )
