"""What tests rely on in the program that runs them."""

from typing import cast

import pytest


@pytest.mark.xdist_group("together")
def test_tests_of_a_group_run_in_one_process(request: pytest.FixtureRequest) -> None:
    """A group shares a costly fixture, or the machine: xdist must see it where it is used."""
    item = cast("pytest.Item", request.node)  # pyright: ignore[reportUnknownMemberType] - pytest's
    grouped = bool(request.config.getoption("loadgroup", default=False))

    assert grouped == item.nodeid.endswith("@together")
