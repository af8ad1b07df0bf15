"""Patterns of names: `*`, `?`, and nothing else."""

from time import process_time

import pytest

from fairlead.policy import Glob


@pytest.mark.parametrize(
    ("pattern", "fit", "unfit"),
    [
        ("mail", ["mail"], ["Mail", "mails", "amail", ""]),
        ("*", ["", "a", "a\nb"], []),
        ("a*", ["a", "ab"], ["ba"]),
        ("*a", ["a", "ba", "aba"], ["ab"]),
        ("a*b*c", ["abc", "a-b-c", "abbcc"], ["acb", "ab"]),
        ("a?c", ["abc", "a\nc"], ["ac", "abbc"]),
        ("**a**", ["a", "xax"], ["x"]),
        ("?*", ["a", "ab"], [""]),
        ("[ab]", ["[ab]"], ["a"]),
        ("a.c", ["a.c"], ["abc"]),
        ("*ab*ba*", ["abba", "abxba"], ["aba"]),
        ("", [""], ["a"]),
        ("[ab]*", ["[ab]c"], ["ac"]),
        ("a.?", ["a.c"], ["abc"]),
    ],
)
def test_a_pattern_matches_whole_names(pattern: str, fit: list[str], unfit: list[str]) -> None:
    """A star is any text, a question mark one character, case counts."""
    glob = Glob(pattern)

    assert (fit, []) == (
        [name for name in fit if glob.matches(name)],
        [name for name in unfit if glob.matches(name)],
    )


def test_no_pattern_takes_long() -> None:
    """A pattern that would try every division of a name is answered at once."""
    glob = Glob("*a" * 60 + "b")
    begun = process_time()

    assert not glob.matches("a" * 128)
    assert process_time() - begun < 0.1
