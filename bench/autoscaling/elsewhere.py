"""What no simulation can measure of the autoscaler: figures copied from runs, with targets.

The figures are in `elsewhere.toml`, which is edited by hand: those of a cluster come from the
end of `make e2e-long`, those of clocks and of memory from the tests that it names.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

FIGURES = Path(__file__).with_name("elsewhere.toml")


class Given(BaseModel):
    """Immutable fields; an unknown one is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(Given):
    """A target and its measurement."""

    target: str
    what: str
    """With its unit."""
    most: float
    measured: float
    over: str
    """Number of tries, and where."""

    @property
    def met(self) -> bool:
        """Whether the target was reached."""
        return self.measured <= self.most


class Elsewhere(Given):
    """All figures, and when they were measured."""

    note: str
    """When, on what machine and at which commit, for the page."""
    figures: tuple[Figure, ...] = Field(alias="figure")


def load() -> Elsewhere:
    """Load the file."""
    return Elsewhere.model_validate(tomllib.loads(FIGURES.read_text("utf-8")))
