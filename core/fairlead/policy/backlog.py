"""Backlog limits: how many jobs may be unfinished before INSERTs are refused."""

from typing import Annotated

from pydantic import Field

from fairlead.policy import value_types
from fairlead.policy.mapping import MappingModel

UNFINISHED_MAX = 1_000_000


class Backlog(MappingModel):
    """How many jobs may be unfinished before INSERTs are refused."""

    limit: Annotated[int, value_types.integer(1, UNFINISHED_MAX)] = Field(
        description="Unfinished jobs: scheduled, pending, queued and running. Once there are "
        "this many, an INSERT fails with SQLSTATE FL005 until their number has fallen to nine "
        "tenths of the limit. They are counted every one to three seconds, so a burst of "
        "INSERTs may exceed the limit for up to five seconds. Retries count, and are not "
        "refused."
    )
