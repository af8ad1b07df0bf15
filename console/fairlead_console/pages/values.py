"""The values that pages are made of: rows by column name, and counts that stop somewhere."""

from dataclasses import dataclass
from typing import TypeAlias

Row: TypeAlias = dict[str, object]
"""As `fairlead.inspection` reads it; what is pure does not import that."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many jobs are in a state, or that there are more than were counted."""

    number: int
    or_more: bool
