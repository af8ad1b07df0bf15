"""A schedule that an application declares beside a handler."""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fairlead.jsontext import JsonLike

Missed: TypeAlias = Literal["skip", "coalesce", "catch_up"]

_FIELDS = re.compile(r"\s*(\S+\s+){4,5}\S+\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When jobs of a kind are inserted, and which; the columns of `fairlead.schedules`.

    Raises:
        ValueError: the expression has neither five nor six fields.
    """

    name: str
    cron: str
    timezone: str
    tenant: str
    payload: JsonLike
    missed: Missed
    queue: str | None
    expires_in_seconds: float | None
    kind: str = ""

    def __post_init__(self) -> None:
        if not _FIELDS.fullmatch(self.cron):
            raise ValueError(
                f"cron must have five fields, or six with seconds first, not {self.cron!r}"
            )
