"""The mutants are of the product as it is; what kills each is judged by `make proof`."""

from tests.model.variants import VARIANTS
from tests.mutants import generating, page
from tests.mutants.mutants import mutants
from tests.support import tree


def test_each_change_of_each_mutant_has_one_place() -> None:
    """A text that has changed since, or stands twice, is no mend that could be taken back."""
    lost = [
        (mutant.name, change.file)
        for mutant in mutants()
        for change in mutant.changes
        if not change.is_in(tree.ROOT)
    ]

    assert [] == lost


def test_each_mutant_has_a_name_of_its_own_and_tests_that_are_there() -> None:
    """Names are how one of them is asked for."""
    every = mutants()
    files = {test.split("::")[0] for mutant in every for test in mutant.tests}

    assert len(every) == len({mutant.name for mutant in every})
    assert [] == sorted(file for file in files if not (tree.ROOT / file).is_file())


def test_what_is_said_of_generated_mutants_is_said_of_some() -> None:
    """A statement that has changed may no longer have the mutant that told nothing."""
    sources = {each.name: each for each in generating.sources()}
    said = generating.equivalents()
    judged = generating.tests_by_source()
    made = {
        name
        for source in {each.split(": ")[0] for each in said}
        for name, _ in generating.named(sources[source])
    }

    assert set() == said.keys() - made
    assert set() == judged.keys() - sources.keys()
    assert [] == sorted(
        test for tests in judged.values() for test in tests if not (tree.ROOT / test).is_file()
    )


def test_each_decision_is_judged_by_tests_that_are_there() -> None:
    """Wherever its module stands below the concern."""
    decisions = [each for each in generating.sources() if each.kind == "decision"]

    assert decisions
    assert [] == [
        (each.name, test)
        for each in decisions
        for test in generating.named_after(each)
        if not (tree.ROOT / test).exists()
    ]


def test_each_hole_is_opened_by_a_mutant_and_found_or_said_why_not() -> None:
    """By tests and variants that are there."""
    names = {each.name for each in mutants()}
    variants = {each.name for each in VARIANTS}

    for hole in page.holes():
        assert hole["mutant"] in names
        assert hole.get("by") or hole.get("model") or hole.get("because"), hole["what"]
        assert hole.get("model", "") in {"", *variants}
        assert all((tree.ROOT / test.split("::")[0]).is_file() for test in hole.get("by", []))
