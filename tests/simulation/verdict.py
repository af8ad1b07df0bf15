"""What became of a seed."""

from collections import Counter
from dataclasses import dataclass


class Broken(Exception):
    """A promise is broken; the sentence says which."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a seed, and the line that replays it."""

    part: str
    """`leader` or `autoscaler`."""
    seed: int
    steps: int
    """How many events happened, or seconds went by."""
    broken: str
    """The first promise that is broken; empty: none is."""
    checked: Counter[str]
    longest_us: Counter[str]

    @property
    def line(self) -> str:
        """A line that replays it."""
        which = "" if self.part == "leader" else f"--part {self.part} "
        return f"python -m tests.simulation {which}--seed {self.seed} --steps {self.steps}"
