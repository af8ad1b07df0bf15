"""An attempt's key: its job's id and its token, which together fence every statement."""

from collections.abc import Iterable
from typing import TypeAlias

from fairlead.db.statements import integers

Key: TypeAlias = tuple[int, int]
"""A job's id and the attempt's token."""


def key_parameters(keys: Iterable[Key]) -> dict[str, object]:
    """Return the parameters `ids` and `tokens`, in the order in which rows are locked."""
    ordered = sorted(keys)
    return {
        "ids": integers([job_id for job_id, _ in ordered]),
        "tokens": integers([token for _, token in ordered]),
    }
