"""Pools of workers, and the queues that each serves."""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, FailFast, Field, model_validator

from fairlead.policy import value_types
from fairlead.policy.autoscale import Autoscale
from fairlead.policy.globs import covered
from fairlead.policy.mapping import MappingModel, entry_error
from fairlead.policy.value_types import shortened

POOLS_MAX = 50
QUEUES_MAX = 1000
_PATTERN = value_types.name(what="a queue's name or a pattern with * and ?")


class Pool(MappingModel):
    """A pool of workers and the queues that it serves."""

    name: Annotated[str, value_types.name(what="a pool's name")] = Field(
        description="The pool that workers join with `fairlead worker --pool`."
    )
    queues: Annotated[
        tuple[Annotated[str, _PATTERN], ...],
        FailFast(),
        Field(min_length=1, max_length=QUEUES_MAX),
    ] = Field(
        description="Names of queues or patterns: `*` is any text, `?` any one character. A "
        "queue belongs to the first pool that names it. 1 to 1000."
    )
    timeout_default: Annotated[timedelta, value_types.duration("1ms", "720h")] | None = Field(
        default=None,
        description="Timeout of an attempt if the job's row has none; null: the scheduler's "
        "FAIRLEAD_TIMEOUT_DEFAULT_SECONDS, 10m by default. A change applies to jobs dispatched "
        "from then on.",
    )
    timeout_max: Annotated[timedelta, value_types.duration("1ms", "720h")] | None = Field(
        default=None,
        description="Longest timeout of an attempt, whatever the job's row or timeoutDefault "
        "has; null: the scheduler's FAIRLEAD_TIMEOUT_MAX_SECONDS, 1h by default. A job with a "
        "longer timeout is dispatched with this one, and a handler that extends its deadline "
        "is stopped when this long has passed since its claim.",
    )
    autoscale: Autoscale | None = Field(
        default=None,
        description="Lets the autoscaler set the pool's number of pods by what its jobs need; "
        "null: the Deployment keeps the replicas that an operator sets.",
    )

    @model_validator(mode="after")
    def _default_fits(self) -> "Pool":
        default, most = self.timeout_default, self.timeout_max
        if default is not None and most is not None and default > most:
            raise ValueError(
                f"has timeoutDefault {value_types.format_duration(default)} above timeoutMax "
                f"{value_types.format_duration(most)}: lower the one or raise the other"
            )
        return self


def _fit(pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """Refuse two pools of one name, and patterns that can never be the first match."""
    if not pools:
        raise ValueError("must have one pool or more, or be left out")
    for place, pool in enumerate(pools):
        if pool.name in {each.name for each in pools[:place]}:
            message = f"'{shortened(pool.name)}' is the name of an earlier pool: rename one"
            raise entry_error(message, place, "name")
    queues = [
        (queue, (place, "queues", entry))
        for place, pool in enumerate(pools)
        for entry, queue in enumerate(pool.queues)
    ]
    dead = covered(queue for queue, _ in queues)
    if dead is not None:
        earlier, (other, *_) = queues[dead.first]
        name, pattern = shortened(pools[other].name), shortened(earlier)
        message = (
            f"'{shortened(dead.pattern)}' is served by '{name}' already, by its '{pattern}'"
        )
        fix = "put the narrower one first, or leave one out"
        raise entry_error(f"{message}: {fix}", *queues[dead.place][1])
    return pools


Pools = Annotated[
    tuple[Pool, ...], FailFast(), Field(max_length=POOLS_MAX), AfterValidator(_fit)
]
"""A queue belongs to the first pool with a matching pattern."""
