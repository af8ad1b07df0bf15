"""What tests rely on in the program that runs them."""

import os
from typing import cast

import pytest


@pytest.mark.xdist_group("together")
def test_tests_of_a_group_run_in_one_process(request: pytest.FixtureRequest) -> None:
    """A group shares a costly fixture, or the machine: xdist must see it where it is used.

    Several processes without groups are a mistake in the command: chaos tests would run beside
    each other.
    """
    item = cast("pytest.Item", request.node)  # pyright: ignore[reportUnknownMemberType] - pytest's

    assert ("PYTEST_XDIST_WORKER" in os.environ) == item.nodeid.endswith("@together")
