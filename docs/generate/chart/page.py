"""The chart's page: what people wrote, then a table of every value."""

import json
from pathlib import Path

from docs.generate.chart.values import Field, rows

PATH = Path("charts/fairlead/README.md")

_MARK = "## Values\n"
_HEAD = """
Written by `python -m docs.generate` from [values.yaml](values.yaml), like
[values.schema.json](values.schema.json), which helm checks every value against.

| value | default | what it is |
| --- | --- | --- |
"""


def render(page: str, fields: tuple[Field, ...]) -> str:
    """Return the page with its table written anew; what stands above it is kept."""
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
