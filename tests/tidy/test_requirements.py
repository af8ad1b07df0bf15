"""What is installed is pinned: each dependency within its bounds, each file by its hash."""

import tomllib
from pathlib import Path
from typing import cast

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.support import tree
from tests.support.requirements import FOLDER, Pins, every_pin, files, pins


def lines(text: str) -> list[str]:
    """Return the lines of a file that name a package, with a hash or without."""
    return [line for line in text.splitlines() if line[:1].isalnum()]


def missing(wanted: list[str], pinned: Pins) -> list[str]:
    """Return the requirements that no pin satisfies."""
    parsed = [Requirement(each) for each in wanted]
    return [
        str(each)
        for each in parsed
        if (version := pinned.get(canonicalize_name(each.name))) is None
        or Version(version) not in each.specifier
    ]


def test_every_pin_has_a_hash() -> None:
    """A line without a hash would make pip refuse the whole file, on its platform alone."""
    for path in files():
        text = tree.text(path)
        assert len(lines(text)) == len(pins(text)), path


def test_what_is_declared_is_pinned_within_its_bounds() -> None:
    """`make constraints` has run since a dependency or its bounds changed."""
    declared = tomllib.loads(tree.text(Path("pyproject.toml")))
    project, groups = declared["project"], declared["dependency-groups"]
    extras = project["optional-dependencies"]
    programs = [
        *(extras["scheduler"] + extras["autoscaler"] + extras["cli"]),
        *extras["console"],
    ]
    tools = [each for each in extras["dev"] if not each.startswith("fairlead[")]
    named = [each for each in groups["image"] if isinstance(each, str)]
    wanted = {
        "develop": [
            *(project["dependencies"] + programs + tools),
            *(extras["plot"] + extras["test"]),
            *cast("list[str]", groups["docs"]),
        ],
        "programs": project["dependencies"] + programs,
        "image": groups["build"] + named,
    }

    for file, requirements in wanted.items():
        pinned = pins(tree.text(FOLDER / f"{file}.txt"))
        assert [] == missing(cast("list[str]", requirements), pinned), file


def test_what_is_tested_is_what_the_image_has() -> None:
    """A package has one version, wherever it is installed."""
    found = every_pin()

    assert 3 == len(list(files()))
    assert len({name for name, _ in found}) == len(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a==1 \\\n    --hash=sha256:00 \\\n    --hash=sha256:01\n", {"a": "1"}),
        ("a==1 ; python_version < '3.13' \\\n    --hash=sha256:00\nb==2\n", {"a": "1"}),
    ],
)
def test_the_rule_sees_a_pin_without_a_hash(text: str, found: Pins) -> None:
    """A pin counts with its hashes alone."""
    assert found == pins(text)


def test_the_rule_sees_what_is_not_pinned_or_out_of_bounds() -> None:
    """A dependency without a pin, or with one that its bounds exclude, is named."""
    assert ["b>=2", "c"] == missing(["a_x>=1", "b>=2", "c"], {"a-x": "1", "b": "1"})
