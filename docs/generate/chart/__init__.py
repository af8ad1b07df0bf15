"""Generate the chart's files: its values' schema, its README and its dashboards."""

from pathlib import Path

from docs.generate import dashboards
from docs.generate.chart import page, schema, values

ROOT = Path(__file__).parents[3]


def rendered() -> dict[Path, str]:
    """Return every generated file of the chart by its path below the root."""
    fields = values.read((ROOT / values.PATH).read_text("utf-8"))
    written = (ROOT / page.PATH).read_text("utf-8")
    return {
        schema.PATH: schema.render(fields),
        page.PATH: page.render(written, fields),
        **dashboards.rendered(),
    }
