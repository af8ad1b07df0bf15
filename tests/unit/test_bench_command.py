"""What `python -m bench` is asked for."""

from pathlib import Path

import pytest

from bench.__main__ import arguments

FIFTY = Path(__file__).parents[2] / "bench/policies/fifty-rules.yaml"


def test_without_words_everything_is_measured_without_a_policy() -> None:
    """As `make bench` calls it."""
    given = arguments([])

    assert ("quick", "", False) == (given.form, given.policy, given.record)
    assert "P1" in given.scenarios


def test_a_policy_is_read_before_anything_is_measured() -> None:
    """The document itself is put in force in every database."""
    assert FIFTY.read_text("utf-8") == arguments(["--policy", str(FIFTY)]).policy


@pytest.mark.parametrize("words", [["--policy", "."], ["--policy", str(FIFTY), "--record"]])
def test_what_cannot_be_measured_is_refused(words: list[str]) -> None:
    """A folder is no policy, and the budgets are those without one."""
    with pytest.raises(SystemExit) as refused:
        arguments(words)

    assert refused.value.code == 2
