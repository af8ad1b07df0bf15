"""What the demo says of an edit of a weight, and when it says that this cannot be known."""

import random
from io import StringIO
from math import inf

import pytest
from rich.console import Console

from examples.demo import edit_result
from examples.demo.edit_effect import Edit, Effect, Spell, TargetStatus, effect

EDIT = Edit(("acme",), 10, 10.0, 2, "0123456789ab", 10.6, 20.0)
NOW = 21.0


def steady(
    shares: dict[str, int], *, from_seconds: float, until_seconds: float, there_from: float = 0
) -> list[Spell]:
    """Return jobs of a tenth of a second, so many of each tenant at any time."""
    return [
        Spell(tenant, there_from, tenth / 10, (tenth + 1) / 10)
        for tenth in range(round(from_seconds * 10), round(until_seconds * 10))
        for tenant, slots in shares.items()
        for _ in range(slots)
    ]


STILL = [Spell(name, 0.0, inf, inf) for name in ("acme", "b")]
"""They have more work than there is time for."""


def found(
    *, before: float | None = 0.1, after: float | None = 0.5, give_or_take: float | None = 0.0
) -> Effect:
    """Return an effect of an edit that entitles to half of the slot-time."""
    return Effect(
        tenants=("acme", "zenith"),
        weight=10,
        version=2,
        digest="0123456789ab",
        in_force_after_seconds=0.6,
        share_before=before,
        share_after=after,
        share_entitled=0.5,
        share_give_or_take=give_or_take,
        jobs_after=400,
    )


def shown(effect: Effect) -> str:
    """Return the table on a terminal of 80 columns."""
    out = StringIO()
    Console(file=out, width=80).print(edit_result.table(effect))
    return out.getvalue()


def test_the_effect_of_an_edit_is_its_share_about_the_fifth_second() -> None:
    """From three seconds after the save until it is undone, against three before it."""
    before = steady({"acme": 1, "b": 1, "c": 2}, from_seconds=0, until_seconds=10.6)
    after = steady({"acme": 9, "b": 1, "c": 2}, from_seconds=10.6, until_seconds=20)

    found = effect([*before, *after, *STILL], EDIT, NOW)

    assert found.in_force_after_seconds is not None
    assert 0.6 == round(found.in_force_after_seconds, 6)
    assert 0.25 == round(found.share_before or 0, 6)
    assert 0.75 == round(found.share_after or 0, 6)
    assert round(10 / 12, 6) == round(found.share_entitled or 0, 6)
    assert round((0.75 - 0.25) / (10 / 12 - 0.25), 6) == round(found.effect or 0, 6)
    assert 7 * 10 * 12 == found.jobs_after


@pytest.mark.parametrize(
    ("full_at", "acme", "status"),
    [
        (12.0, 10, TargetStatus.MET),
        (15.5, 10, TargetStatus.CLOSE),
        (12.0, 7, TargetStatus.MISSED),
    ],
)
def test_what_comes_late_or_in_part_is_missing_in_the_effect(
    full_at: float, acme: int, status: TargetStatus
) -> None:
    """A share that is right from the sixth second on only was not there when it should be."""
    before = steady({"acme": 1, "b": 1}, from_seconds=0, until_seconds=full_at)
    after = steady({"acme": acme, "b": 1}, from_seconds=full_at, until_seconds=20)

    assert status == effect([*before, *after, *STILL], EDIT, NOW).effect_status


def test_the_tenants_of_an_edit_share_its_effect() -> None:
    """Their weights count together, and so does what they get."""
    edit = EDIT._replace(tenants=("acme", "zenith"))
    before = steady({"acme": 1, "zenith": 1, "b": 1, "c": 1}, from_seconds=0, until_seconds=10)
    after = steady(
        {"acme": 10, "zenith": 10, "b": 1, "c": 1}, from_seconds=10, until_seconds=20
    )

    found = effect([*before, *after, *STILL, STILL[0]._replace(tenant="zenith")], edit, NOW)

    assert (0.5, round(20 / 22, 6)) == (found.share_before, round(found.share_entitled or 0, 6))
    assert 1.0 == round(found.effect or 0, 6)


def test_who_comes_later_does_not_count_in_what_an_edit_entitles_to() -> None:
    """Weights count against those of the others that have work now."""
    there = steady({"acme": 9, "b": 1}, from_seconds=0, until_seconds=20)
    later = steady({"late": 1}, from_seconds=20, until_seconds=25, there_from=20)

    found = effect([*there, *later, *STILL], EDIT, NOW)

    assert round(10 / 11, 6) == round(found.share_entitled or 0, 6)


@pytest.mark.parametrize("undone", [None, 20.0])
def test_an_edit_that_was_never_in_force_has_no_effect_to_show(undone: float | None) -> None:
    """It has missed the time in which it should be in force, and no shares are compared."""
    spells = steady({"acme": 9, "b": 1}, from_seconds=0, until_seconds=20)
    edit = EDIT._replace(in_force_seconds=None, undone_seconds=undone)

    found = effect([*spells, *STILL], edit, NOW)

    assert (TargetStatus.MISSED, TargetStatus.UNSEEN) == (
        found.in_force_status,
        found.effect_status,
    )
    assert None is found.share_after
    assert None is edit_result.line(found)


def test_an_edit_is_not_judged_before_it_was_watched_for_some_seconds() -> None:
    """A few jobs would tell nothing."""
    spells = [*steady({"acme": 9, "b": 1}, from_seconds=0, until_seconds=20), *STILL]
    under_way = EDIT._replace(undone_seconds=None)

    status = [effect(spells, under_way, now).effect_status for now in (12.0, 16.9, 17.1)]

    assert [TargetStatus.UNSEEN, TargetStatus.UNSEEN] == status[:2]
    assert TargetStatus.UNSEEN != status[2]


def test_an_edit_without_work_has_no_effect_to_show() -> None:
    """A tenant that has nothing waiting cannot have what it is entitled to."""
    spells = steady({"acme": 1, "b": 1}, from_seconds=0, until_seconds=12)

    found = effect([*spells, Spell("acme", 0.0, 12.0, 20.0)], EDIT, NOW)

    assert (None, None, None) == (found.share_after, found.share_entitled, found.effect)
    assert TargetStatus.UNSEEN == found.effect_status
    assert 3 == shown(found).count("its work had ended")


@pytest.mark.parametrize(
    ("effect", "status"),
    [
        (found(), TargetStatus.MET),
        (found(after=0.48), TargetStatus.MET),
        (found(after=0.49, give_or_take=0.01), TargetStatus.MET),
        (found(after=0.48, give_or_take=0.01), TargetStatus.CLOSE),
        (found(after=0.47, give_or_take=0.02), TargetStatus.CLOSE),
        (found(after=0.47, give_or_take=0.001), TargetStatus.MISSED),
        (found(after=0.47), TargetStatus.MISSED),
        (found(before=0.5), TargetStatus.UNSEEN),
        (found(before=None), TargetStatus.UNSEEN),
        (found(after=None), TargetStatus.UNSEEN),
        (found(give_or_take=None), TargetStatus.UNSEEN),
    ],
)
def test_an_effect_is_judged_by_the_whole_of_its_interval(
    effect: Effect, status: TargetStatus
) -> None:
    """With few slots and long jobs, a share is what the last of them make of it."""
    assert status == effect.effect_status
    assert status.value in shown(effect)
    assert status.value == edit_result.as_json(effect)["effect_status"]


def test_the_interval_of_a_share_holds_what_a_longer_look_would_find() -> None:
    """Nine times of ten, for jobs drawn at random; a fair queue evens out some more."""
    held = 0
    for seed in range(60):
        chance, at, spells = random.Random(seed), 0.0, [*STILL]
        while at < 20.0:
            took = chance.uniform(0.03, 0.09)
            tenant = "acme" if chance.random() < 0.7 else "b"
            spells.append(Spell(tenant, 0.0, at, at + took))
            at += took
        seen = effect(spells, EDIT, NOW)
        assert seen.share_after is not None
        assert seen.share_give_or_take is not None
        held += abs(seen.share_after - 0.7) <= seen.share_give_or_take

    assert 50 <= held <= 58


def test_the_table_of_an_edit_has_both_targets_and_fits_80_columns() -> None:
    """It names the policy by its digest."""
    said = shown(found(after=0.49, give_or_take=0.008))

    assert "2 (0123456789ab)" in said
    assert all(each in said for each in ("600 ms", "≤ 2.0 s", "49% ± 1%", "98% ± 2%", "≥ 95%"))
    assert 2 == said.count("met")
    assert 80 >= max(map(len, said.splitlines()))


def test_the_line_of_an_edit_fits_beside_its_time() -> None:
    """It is one of the events of the live view."""
    said = edit_result.line(found(after=0.48))

    assert "95% of the effect 5 s after the save: 48% of the slot-time, not 10%" == said
