"""What a policy may say of how far ahead jobs are dispatched, and of connections."""

from typing import Annotated

from pydantic import Field

from fairlead.policy import kinds
from fairlead.policy.part import Part

DEPTH_MAX = 100_000
CONNECTIONS_MAX = 100_000


class Capacity(Part):
    """How many jobs may be dispatched and wait for a worker, and what PostgreSQL has for pods.

    How many jobs do follows how fast workers claim: what they take within two looks of the
    leader, beside the slots that are free. The ceiling is only the most.
    """

    depth_ceiling: Annotated[int, kinds.whole(1, DEPTH_MAX)] | None = Field(
        default=None,
        description="Jobs of a pool that may be queued for a worker at once; null: the "
        "scheduler's FAIRLEAD_QUEUED_MAX, 2000 by default. Less recalls nothing: workers take "
        "what is there. A ceiling below what workers take between two looks leaves slots free. "
        "Jobs that go before queued ones, and those of reserves, go past it by at most the "
        "pool's slots; `fairlead_scheduler_overflow` counts them.",
    )
    connections_reserve: Annotated[int, kinds.whole(0, CONNECTIONS_MAX)] = Field(
        default=20,
        description="Of PostgreSQL's `max_connections`, those that the pods of pools with "
        "`autoscale` leave to everybody else, such as applications; 0 to 100,000. No pod is "
        "added for which the rest has no room.",
    )
