"""The reference says what the code says."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from docs.generate import (
    alerts,
    api,
    chaos,
    chart,
    cli,
    fail_overs,
    metrics,
    performance,
    policy,
    reasons,
    settings,
)
from tests.support import tree

_RENDERED: dict[Path, Callable[[], str]] = {
    **{
        each.PATH: each.render
        for each in (
            chaos,
            cli,
            fail_overs,
            metrics,
            performance,
            policy,
            reasons,
            settings,
            alerts,
        )
    },
    policy.SCHEMA_PATH: policy.render_schema,
    alerts.PAGE_PATH: alerts.page,
    **{path: partial(api.render, path) for path in api.PATHS},
}


@pytest.mark.parametrize("path", _RENDERED, ids=str)
def test_a_generated_page_is_committed_as_it_is_generated(path: Path) -> None:
    """`python -m docs.generate` writes the pages anew."""
    assert _RENDERED[path]() == (tree.ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("path", api.PATHS, ids=str)
def test_every_public_name_says_what_it_is(path: Path) -> None:
    """A name without a docstring would be an empty section; so would a method or a property."""
    module = api.PATHS[path]
    names = api.public(module)
    members = [
        f"{name}.{each}" for name in names for each in api.members(getattr(module, name))
    ]

    assert [] == [each for each in (*names, *members) if not api.docstring(module, each)]
    by_path = api.by_path(module)
    assert [] == [each for each in by_path if not api.docstring_by_path(module, each)]


def test_the_generated_pages_of_the_chart_are_committed_as_they_are_generated() -> None:
    """As those of the programs are."""
    rendered = chart.rendered()

    assert rendered == {path: (tree.ROOT / path).read_text("utf-8") for path in rendered}
