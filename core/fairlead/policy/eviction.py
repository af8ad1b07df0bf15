"""Eviction: from which wait on running jobs are asked to make room."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel


class Eviction(MappingModel):
    """Running jobs that agreed to it stop so that tenants without any can run.

    Only jobs of kinds whose handlers are registered with `evictable=True` are asked. A tenant
    that holds no more than its fair share loses none, and a job is asked at most once in five
    minutes.
    """

    after: Annotated[timedelta, value_types.duration("100ms", "24h")] = Field(
        description="How long a tenant of a queue must have had jobs that wait, and none that "
        "runs, while all slots of its pool are taken.",
    )
