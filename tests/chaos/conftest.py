"""Fixtures of the chaos tests: a fleet over a database of its own, and a seeded random."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from fairlead_cli.dev.postgres import Server
from tests.chaos.fleet import Fleet, fleet, seeded


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the chaos tests in one test process: two at once would starve each other's leases.

    This runs before xdist looks for groups, which it does in the same hook.
    """
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.xdist_group("chaos"))


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Return the test's random source; its seed is printed."""
    item = cast("pytest.Item", request.node)  # pyright: ignore[reportUnknownMemberType] - pytest's
    return seeded(item.name)


@pytest.fixture
def some_fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Yield a fleet over a database on the tests' common server."""
    with fleet(database_url, tmp_path) as made:
        made.record()
        yield made


@pytest.fixture
def own_fleet(own_server: Server, tmp_path: Path) -> Iterator[Fleet]:
    """Yield a fleet over a durable server that the test may kill."""
    with fleet(own_server.url, tmp_path) as made:
        made.record()
        yield made
