"""How far ahead of the workers jobs are dispatched, and connections kept free."""

from typing import Annotated

from pydantic import Field

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel

DEPTH_MAX = 100_000
CONNECTIONS_MAX = 100_000


class Capacity(MappingModel):
    """How many jobs may be queued for workers, and how many connections pods may use.

    The leader queues as many jobs as there are free slots, plus as many as workers claim within
    two of its ticks. The ceiling only bounds that number.
    """

    depth_ceiling: Annotated[int, value_types.integer(1, DEPTH_MAX)] | None = Field(
        default=None,
        description="Most jobs of a pool that may be queued for workers at once; null: the "
        "scheduler's FAIRLEAD_QUEUED_MAX, 2000 by default. Lowering it recalls no job: workers "
        "claim what is queued. If it is lower than what workers claim between two ticks of the "
        "leader, slots stay free. Jobs that go before queued ones, and those of reserves, may "
        "exceed it by at most the pool's slots; `fairlead_scheduler_overflow` counts them.",
    )
    connections_reserve: Annotated[int, value_types.integer(0, CONNECTIONS_MAX)] = Field(
        default=20,
        description="How many of PostgreSQL's `max_connections` the pods of pools with "
        "`autoscale` leave to other clients, such as applications; 0 to 100,000. No pod is "
        "added that would use these. Behind a pooler, of the clients that it accepts.",
    )
    pooler_connections: Annotated[int, value_types.integer(1, CONNECTIONS_MAX)] | None = Field(
        default=None,
        description="Clients that the pooler before PostgreSQL accepts, all its replicas "
        "together, where programs have FAIRLEAD_DATABASE_DIRECT=false; 1 to 100,000. null: "
        "what one PgBouncer tells the autoscaler's login, and no limit if it tells nothing.",
    )
