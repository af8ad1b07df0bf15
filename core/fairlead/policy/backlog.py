"""Back-pressure: how many jobs may be unfinished before more are refused."""

from typing import Annotated

from pydantic import Field

from fairlead.policy import kinds
from fairlead.policy.part import Part

UNFINISHED_MAX = 1_000_000


class Backlog(Part):
    """How many jobs may be unfinished before more are refused."""

    limit: Annotated[int, kinds.whole(1, UNFINISHED_MAX)] = Field(
        description="Unfinished jobs: scheduled, pending, queued and running. When there are "
        "so many, whoever inserts one more gets an error (SQLSTATE FL005), until nine tenths "
        "of them are left. They are counted every one to three seconds: a flood may pass the "
        "limit for up to five. Retries count and are not refused."
    )
