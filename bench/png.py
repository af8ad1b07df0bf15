"""Save a figure as a small PNG: few colours, and the same bytes for the same figure."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# - matplotlib's methods take keywords without types.

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DPI = 100
_COLOURS = 32


def save(figure: Figure, path: Path) -> None:
    """Write the figure as a PNG with a palette, and create the folder."""
    from PIL import Image  # noqa: PLC0415 - comes with matplotlib, and is wanted at the end

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=_DPI)
    path.parent.mkdir(parents=True, exist_ok=True)
    with Image.open(drawn) as picture:
        few = picture.convert("RGB").quantize(
            _COLOURS,
            method=Image.Quantize.FASTOCTREE,  # it alone keeps the colour of a thin line
            dither=Image.Dither.NONE,
        )
    few.save(path, format="png", optimize=True)
