"""The reference says what the code says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate import alerts, chart, cli, metrics, performance, policy, reasons, settings
from tests.support import tree

_RENDERED: dict[Path, Callable[[], str]] = {
    **{
        each.PATH: each.render
        for each in (cli, metrics, performance, policy, reasons, settings, alerts)
    },
    policy.SCHEMA_PATH: policy.render_schema,
    alerts.PAGE_PATH: alerts.page,
}


@pytest.mark.parametrize("path", _RENDERED, ids=str)
def test_a_generated_page_is_committed_as_it_is_generated(path: Path) -> None:
    """`python -m docs.generate` writes the pages anew."""
    assert _RENDERED[path]() == (tree.ROOT / path).read_text("utf-8")


def test_the_generated_pages_of_the_chart_are_committed_as_they_are_generated() -> None:
    """As those of the programs are."""
    rendered = chart.rendered()

    assert rendered == {path: (tree.ROOT / path).read_text("utf-8") for path in rendered}
