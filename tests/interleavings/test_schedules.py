"""Which schedules there are, of sides that never wait."""

from math import comb

import pytest

from tests.interleavings.schedules import Choice, next_prefix, switches


def schedules(*steps: int, alike: bool = False, switches_max: int | None = None) -> list[str]:
    """Return all schedules of sides that have so many steps."""
    found: list[str] = []
    prefix: tuple[int, ...] | None = ()
    while prefix is not None:
        choices = played(steps, prefix)
        found.append("".join("ABC"[choice.taken] for choice in choices))
        prefix = next_prefix(choices, alike=alike, switches_max=switches_max)
    return found


def played(steps: tuple[int, ...], prefix: tuple[int, ...]) -> list[Choice]:
    """Return what a run of them notes."""
    left, last, choices = list(steps), -1, list[Choice]()
    while any(left):
        could = [side for side, count in enumerate(left) if count]
        enabled = tuple(sorted(could, key=lambda side: (side != last, side)))
        last = prefix[len(choices)] if len(choices) < len(prefix) else enabled[0]
        left[last] -= 1
        choices.append(Choice(enabled, last))
    return choices


@pytest.mark.parametrize(("first", "second"), [(1, 1), (3, 2), (4, 4)])
def test_two_sides_have_as_many_schedules_as_there_are_choices_of_places(
    first: int, second: int
) -> None:
    """Each of them once."""
    found = schedules(first, second)

    assert comb(first + second, first) == len(found) == len(set(found))


def test_three_sides_have_every_schedule() -> None:
    """6! / (2! 2! 2!)."""
    assert 90 == len(set(schedules(2, 2, 2)))


def test_of_two_schedules_that_mirror_each_other_one_is_run() -> None:
    """Where both sides do the same."""
    assert ["AABB", "ABBA", "ABAB"] == schedules(2, 2, alike=True)


def test_bounded_schedules_are_those_with_few_switches() -> None:
    """A side that has ended is not left."""
    few = [each for each in schedules(3, 3) if each in schedules(3, 3, switches_max=1)]

    assert {"AAABBB", "BBBAAA", "AABBBA", "ABBBAA", "BBAAAB", "BAAABB"} == set(few)
    assert 2 == switches(played((3, 3), (0, 1, 0)))
