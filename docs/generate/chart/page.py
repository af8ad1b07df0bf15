"""Write the chart's README: the hand-written part, then a table of all values."""

import json
from pathlib import Path

from docs.generate.chart.values import Field, rows

PATH = Path("charts/fairlead/README.md")

_MARK = "## Values\n"
_HEAD = """
Helm checks every value against [values.schema.json](values.schema.json). That file and this
table are written by `python -m docs.generate` from [values.yaml](values.yaml).

| value | default | meaning |
| --- | --- | --- |
"""


def render(page: str, fields: tuple[Field, ...]) -> str:
    """Return the page with a new table; the part above it is kept."""
    table = "".join(
        f"| `{path}` | {_default(field)} | {_cell(field.about)} |\n"
        for path, field in rows(fields)
    )
    return page.partition(_MARK)[0] + _MARK + _HEAD + table


def _default(field: Field) -> str:
    if field.default in ("", None):
        return "none"
    return f"`{_cell(json.dumps(field.default))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
