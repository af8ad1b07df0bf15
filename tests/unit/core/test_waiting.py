"""`wait` refuses a connection that it cannot listen on, and says what to give."""

import pytest

import fairlead


class Connection:
    """Another driver's."""


def test_another_drivers_connection_is_named_with_what_to_give_in_its_place() -> None:
    """With its module: other drivers call theirs Connection, too."""
    sentence = r"and not .*test_waiting\.Connection: give it the URL, in asyncio\.to_thread"

    with pytest.raises(TypeError, match=sentence):
        fairlead.wait(Connection(), 1, timeout=1)  # type: ignore[call-overload]  # that is tried
