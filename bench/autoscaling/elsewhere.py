"""What no simulation can measure of the autoscaler: copied from runs, beside what was aimed at.

The figures stand in `elsewhere.toml`, which people write: those of a cluster from the end of
`make e2e-long`, those of clocks and of memory from the tests that it names.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

FIGURES = Path(__file__).with_name("elsewhere.toml")


class Given(BaseModel):
    """Fields that are written down and not changed; one that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(Given):
    """A target, what was aimed at, and what was measured."""

    target: str
    what: str
    """With its unit."""
    most: float
    measured: float
    over: str
    """Of how many tries, and where."""

    @property
    def met(self) -> bool:
        """Whether the target was reached."""
        return self.measured <= self.most


class Elsewhere(Given):
    """All of them, and of when they are."""

    said: str
    """When, on what machine and at which commit, for the page."""
    figures: tuple[Figure, ...] = Field(alias="figure")


def load() -> Elsewhere:
    """Return what is written down."""
    return Elsewhere.model_validate(tomllib.loads(FIGURES.read_text("utf-8")))
