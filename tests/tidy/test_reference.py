"""The reference says what the code says."""

from pathlib import Path

import pytest

from docs.generate import alerts, chart, cli, metrics, performance, policy, reasons, settings
from tests.support import tree


@pytest.mark.parametrize(
    ("path", "rendered"),
    [
        *(
            (each.PATH, each.render())
            for each in (cli, metrics, performance, policy, reasons, settings)
        ),
        (policy.SCHEMA_PATH, policy.render_schema()),
        (alerts.PATH, alerts.render()),
        (alerts.PAGE_PATH, alerts.page()),
        *chart.rendered().items(),
    ],
    ids=str,
)
def test_a_generated_page_is_committed_as_it_is_generated(path: Path, rendered: str) -> None:
    """`python -m docs.generate` writes the pages anew."""
    assert (tree.ROOT / path).read_text("utf-8") == rendered
