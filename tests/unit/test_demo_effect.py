"""What the demo says of an edit of a weight, and when it says that nobody can tell."""

from io import StringIO

import pytest
from rich.console import Console

from fairlead.demo import edited
from fairlead.demo.effect import Edit, Effect, Judged, Spell, effect

EDIT = Edit("acme", 10, 10.0, 2, "0123456789ab", 10.6)


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


def found(*, before: float | None = 0.1, after: float | None = 0.5, job: float = 0.0) -> Effect:
    """Return an effect of an edit that entitles to half of the slot-time."""
    return Effect(
        tenant="acme",
        weight=10,
        version=2,
        digest="0123456789ab",
        in_force_after_seconds=0.6,
        share_before=before,
        share_after=after,
        share_entitled=0.5,
        share_of_one_job=job,
    )


def shown(effect: Effect) -> str:
    """Return the table on a terminal of 80 columns."""
    out = StringIO()
    Console(file=out, width=80).print(edited.table(effect))
    return out.getvalue()


def test_the_effect_of_an_edit_is_its_share_from_then_on() -> None:
    """From then until five seconds after the save, against two seconds before it."""
    before = steady({"acme": 1, "b": 1, "c": 2}, from_seconds=0, until_seconds=10.6)
    after = steady({"acme": 9, "b": 1, "c": 2}, from_seconds=10.6, until_seconds=20)

    found = effect([*before, *after], EDIT)

    assert found.in_force_after_seconds is not None
    assert 0.6 == round(found.in_force_after_seconds, 6)
    assert 0.25 == round(found.share_before or 0, 6)
    assert 0.75 == round(found.share_after or 0, 6)
    assert round(10 / 12, 6) == round(found.share_entitled or 0, 6)
    assert round(0.1 / (4.4 * 12), 6) == round(found.share_of_one_job, 6)
    assert round((0.75 - 0.25) / (10 / 12 - 0.25), 6) == round(found.effect or 0, 6)


def test_what_comes_slowly_counts_from_the_moment_that_the_edit_is_in_force() -> None:
    """A share that is right in the fifth second only was not there for four."""
    before = steady({"acme": 1, "b": 1}, from_seconds=0, until_seconds=14)
    after = steady({"acme": 10, "b": 1}, from_seconds=14, until_seconds=20)

    assert Judged.MISSED == effect([*before, *after], EDIT).effect_judged


def test_who_comes_later_does_not_count_in_what_an_edit_entitles_to() -> None:
    """Weights count against those of the others that have work now."""
    there = steady({"acme": 9, "b": 1}, from_seconds=0, until_seconds=20)
    later = steady({"late": 1}, from_seconds=16, until_seconds=20, there_from=16)

    assert round(10 / 11, 6) == round(effect([*there, *later], EDIT).share_entitled or 0, 6)


@pytest.mark.parametrize("in_force", [None, 13.5, 16.0])
def test_an_edit_that_comes_late_has_no_effect_to_show(in_force: float | None) -> None:
    """It has missed the time in which it should be in force, and no shares are compared."""
    spells = steady({"acme": 9, "b": 1}, from_seconds=0, until_seconds=20)

    found = effect(spells, EDIT._replace(in_force_seconds=in_force))

    assert (Judged.MISSED, Judged.UNSEEN) == (found.in_force_judged, found.effect_judged)
    assert None is found.share_after
    assert None is edited.line(found)


def test_an_edit_without_work_has_no_effect_to_show() -> None:
    """A demo on a fast machine may be over before; it says so and does not fail."""
    spells = steady({"acme": 1, "b": 1}, from_seconds=0, until_seconds=12)

    found = effect([*spells, Spell("acme", 0.0, 12.0, 20.0)], EDIT)

    assert (None, None, None) == (found.share_after, found.share_entitled, found.effect)
    assert Judged.UNSEEN == found.effect_judged
    assert 3 == shown(found).count("its work had ended")


@pytest.mark.parametrize(
    ("effect", "judged"),
    [
        (found(), Judged.MET),
        (found(after=0.48), Judged.MET),
        (found(after=0.47), Judged.MISSED),
        (found(after=0.47, job=0.001), Judged.MISSED),
        (found(after=0.47, job=0.02), Judged.CLOSE),
        (found(before=0.5), Judged.UNSEEN),
        (found(before=None), Judged.UNSEEN),
        (found(after=None), Judged.UNSEEN),
    ],
)
def test_an_effect_is_missed_only_where_one_job_more_would_not_reach_it(
    effect: Effect, judged: Judged
) -> None:
    """With few slots and long jobs, a share is what the last of them make of it."""
    assert judged == effect.effect_judged
    assert judged.value in shown(effect)
    assert judged.value == edited.as_json(effect)["effect_judged"]


def test_the_table_of_an_edit_has_both_targets_and_fits_80_columns() -> None:
    """It names the policy by its digest."""
    said = shown(found(after=0.48, job=0.012))

    assert "2 (0123456789ab)" in said
    assert all(each in said for each in ("600 ms", "≤ 2.0 s", "95% ± 3%", "≥ 95%"))
    assert 2 == said.count("met")
    assert 80 >= max(map(len, said.splitlines()))


def test_the_line_of_an_edit_fits_beside_its_time() -> None:
    """It is one of the events of the live view."""
    said = edited.line(found(after=0.48))

    assert "95% of the effect 5 s after the save: 48% of the slot-time, not 10%" == said
