"""What is counted of each attack: those that are generated say how many they are."""

from collections.abc import Callable
from inspect import signature

import pytest

BY_HAND = "attacks by hand"


@pytest.fixture(autouse=True)
def one_by_hand(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    """Count a test that counts nothing itself as one attack that somebody thought of."""
    if "record_property" not in signature(request.function).parameters:
        record_property(BY_HAND, 1)
