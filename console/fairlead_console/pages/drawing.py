"""The arithmetic of bars and lines, in the units of an SVG's view box."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a bar."""

    tone: str
    """The class that gives it its colour."""
    label: str
    x: float
    width: float


def stacked(
    parts: Sequence[tuple[str, str, float]], *, total: float, width: float = 1000.0
) -> tuple[Segment, ...]:
    """Lay parts (tone, label, amount) out one behind the other; what is nothing is left out."""
    found: list[Segment] = []
    x = 0.0
    for tone, label, amount in parts:
        if amount <= 0.0 or total <= 0.0:
            continue
        wide = min(amount / total * width, width - x)
        if wide > 0.0:
            found.append(Segment(tone, label, round(x, 1), round(wide, 1)))
            x += wide
    return tuple(found)


def line(values: Sequence[float], *, width: float = 240.0, height: float = 48.0) -> str:
    """Return the points of a line through values at equal distances, from zero up."""
    if len(values) < 2:
        return ""
    top = max(*values, 1e-9)
    step = width / (len(values) - 1)
    return " ".join(
        f"{place * step:.1f},{height - value / top * (height - 4) - 2:.1f}"
        for place, value in enumerate(values)
    )
