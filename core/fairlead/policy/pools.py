"""Pools: what a policy may say of who serves which queues."""

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, FailFast, Field, model_validator

from fairlead.policy import kinds
from fairlead.policy.autoscale import Autoscale
from fairlead.policy.globs import covered
from fairlead.policy.part import Part, misfit

POOLS_MAX = 20
QUEUES_MAX = 1000
_PATTERN = kinds.name(what="a queue's name or a pattern with * and ?")


class Pool(Part):
    """A pool of workers, and the queues that it serves."""

    name: Annotated[str, kinds.name(what="a pool's name")] = Field(
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
    timeout_default: Annotated[timedelta, kinds.duration("1ms", "720h")] | None = Field(
        default=None,
        description="The budget of one attempt where the job's row gives none; null: the "
        "scheduler's FAIRLEAD_TIMEOUT_DEFAULT_SECONDS, 10m by default. It holds for what is "
        "dispatched from then on.",
    )
    timeout_max: Annotated[timedelta, kinds.duration("1ms", "720h")] | None = Field(
        default=None,
        description="The largest budget of one attempt, whatever the job's row or "
        "timeoutDefault says; null: the scheduler's FAIRLEAD_TIMEOUT_MAX_SECONDS, 1h by "
        "default. A job that asks for more is dispatched with this one.",
    )
    autoscale: Autoscale | None = Field(
        default=None,
        description="How many pods the pool has, by what its jobs need; null: as many as "
        "somebody asks its Deployment for.",
    )

    @model_validator(mode="after")
    def _default_fits(self) -> "Pool":
        default, most = self.timeout_default, self.timeout_max
        if default is not None and most is not None and default > most:
            raise ValueError(
                f"has timeoutDefault {kinds.written(default)} above timeoutMax "
                f"{kinds.written(most)}: lower the one or raise the other"
            )
        return self


def _fit(pools: tuple[Pool, ...]) -> tuple[Pool, ...]:
    """Refuse two pools of one name, and what no queue can reach."""
    if not pools:
        raise ValueError("must have one pool or more, or be left out")
    for place, pool in enumerate(pools):
        if pool.name in {each.name for each in pools[:place]}:
            said = f"'{kinds.cut(pool.name)}' is the name of an earlier pool: rename one"
            raise misfit(said, place, "name")
    queues = [
        (queue, (place, "queues", entry))
        for place, pool in enumerate(pools)
        for entry, queue in enumerate(pool.queues)
    ]
    dead = covered(queue for queue, _ in queues)
    if dead is not None:
        earlier, (other, *_) = queues[dead.first]
        name, pattern = kinds.cut(pools[other].name), kinds.cut(earlier)
        said = f"'{kinds.cut(dead.pattern)}' is served by '{name}' already, by its '{pattern}'"
        fix = "put the narrower one first, or leave one out"
        raise misfit(f"{said}: {fix}", *queues[dead.place][1])
    return pools


Pools = Annotated[
    tuple[Pool, ...], FailFast(), Field(max_length=POOLS_MAX), AfterValidator(_fit)
]
"""In the order in which they are asked whether a queue is theirs."""
