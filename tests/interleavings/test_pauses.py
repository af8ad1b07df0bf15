"""Every function of the list gets its pauses, or the schedules would be fewer in silence."""

import pytest

from tests.interleavings import pauses
from tests.interleavings.conftest import MakeArena


def test_a_function_that_has_another_name_is_noticed(
    make_arena: MakeArena, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where all others have their pauses."""
    monkeypatch.setattr(pauses, "FUNCTIONS", (*pauses.FUNCTIONS, "renamed"))

    with pytest.raises(AssertionError, match=r"without a pause: \['renamed'\]"):
        make_arena()


def test_a_function_whose_statements_are_not_recognised_is_noticed(
    make_arena: MakeArena,
) -> None:
    """Its statements are found by how the text is written."""

    def write_otherwise(name: str, text: str) -> str:
        return text.replace("begin\n", "BEGIN\n") if name == "cancel" else text

    with pytest.raises(AssertionError, match=r"without a pause: \['cancel'\]"):
        make_arena(write_otherwise)
