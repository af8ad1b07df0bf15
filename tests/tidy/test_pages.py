"""What a page names exists: commands, flags, make's targets, Python names, paths."""

import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import pytest

import fairlead
from fairlead_cli.main import run
from fairlead_worker.settings import parser
from tests.support import tree

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(
    r"`((?:fairlead|fairlead-worker|fairlead-scheduler|fairlead-autoscaler|make) [^`\n]+)`"
)
PATH = re.compile(r"`((?:tests|core|scheduler|worker|autoscaler|cli)/[\w…./-]+)`")
_SQL = re.compile(r"\"\"\"\s*(?:SELECT|INSERT)\b.*?\"\"\"", re.DOTALL)
GROUPS = {
    *("batches", "dev", "tenants", "jobs", "policy"),
    *("roles", "schedules", "trace", "workers"),
}


def typed(markdown: str) -> Iterator[str]:
    """Yield every line of a page that calls a program of Fairlead's or make."""
    for language, block in FENCE.findall(markdown):
        for line in block.splitlines() if language in {"", "sh"} else ():
            if line.startswith(("fairlead ", "fairlead-", "make ")):
                yield line
    yield from INLINE.findall(FENCE.sub("", markdown))


@cache
def help_of(*words: str) -> str | None:
    """Return what a command says to --help; None if there is no such command."""
    if words == ("worker",):
        return parser().format_help()  # its program asks a process of its own
    said = io.StringIO()
    with redirect_stdout(said), patch.object(sys, "argv", list(sys.argv)), suppress(SystemExit):
        if run([*words, "--help"]) != 0:
            return None
    return said.getvalue()


def targets() -> set[str]:
    """Return make's targets."""
    return set(re.findall(r"^([a-z0-9-]+):", tree.text(Path("Makefile")), re.MULTILINE))


def unknown(line: str) -> tuple[str, ...]:
    """Return what a line names that does not exist: a command, flags, a target."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        return tuple(word for word in words[1:2] if word not in targets())
    words[:1] = [*words[0].split("-")[1:]]
    path = [word for word in words[:2] if not word.startswith("-")]
    path = path if words[0] in GROUPS else words[:1]
    flags = help_of(*path)
    if flags is None:
        return (" ".join(path),)
    given = (word.partition("=")[0] for word in words if word.startswith("--"))
    return tuple(flag for flag in given if not re.search(rf"{flag}\b", flags))


def strangers(markdown: str) -> set[str]:
    """Return the names that a page's Python takes from fairlead and that are not there."""
    python = "".join(
        block for language, block in FENCE.findall(markdown) if language == "python"
    )
    names = set(re.findall(r"(?<![\w./\"])fairlead\.(\w+)", _SQL.sub("", python)))
    return {name for name in names if not hasattr(fairlead, name) and not module(name)}


def module(name: str) -> bool:
    """Tell whether fairlead has a module of this name."""
    return find_spec(f"fairlead.{name}") is not None


def test_every_command_on_a_page_exists() -> None:
    """Commands, flags and targets on every page are those of this version."""
    found = {
        f"{page}: {line}": unknown(line)
        for page in tree.files(".md")
        for line in typed(tree.text(page))
    }

    assert len(found) > 30
    assert {} == {line: names for line, names in found.items() if names}


def test_every_name_that_a_pages_python_uses_exists() -> None:
    """What a snippet takes from fairlead is there."""
    wrong = {page: strangers(tree.text(page)) for page in tree.files(".md")}

    assert {} == {page: names for page, names in wrong.items() if names}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("fairlead enqueue KIND --payload '{}'  # a comment", ("--payload",)),
        ("fairlead jobs shwo 1", ("jobs shwo",)),
        ("fairlead-worker --app a:b --slots 5", ("--slots",)),
        ("make demonstration", ("demonstration",)),
        ("fairlead jobs list --state failed", ()),
    ],
)
def test_the_command_rule_names_what_does_not_exist(line: str, names: tuple[str, ...]) -> None:
    """An unknown command, flag or target is named."""
    assert names == unknown(line)


def test_the_name_rule_sees_a_name_that_is_gone() -> None:
    """A module or a public name passes, and nothing else does."""
    page = "```python\nfairlead.testing.run\nfairlead.Tasks()\nfairlead.Queue()\n```\n"
    sql = '```python\n"""\n  SELECT * FROM fairlead.list_jobs()"""; fairlead.Gone\n```\n'

    assert {"Queue"} == strangers(page)
    assert {"Gone"} == strangers(sql)


def test_every_path_on_the_pages_for_contributors_exists() -> None:
    """`scheduler/…/loop` stands for a folder of the room's package."""
    named = {
        path
        for page in ("ARCHITECTURE.md", "CONTRIBUTING.md")
        for path in PATH.findall(tree.text(Path(page)))
    }

    assert len(named) > 20
    assert set() == {path for path in named if not any(tree.ROOT.glob(path.replace("…", "*")))}


def test_what_follows_a_table_does_not_run_into_it() -> None:
    """A line right below a table would be a row of it."""
    wrong = {
        page: found
        for page in tree.files(".md")
        if (found := re.findall(r"^\|.*\n(?!\||\n).+", tree.text(page), re.MULTILINE))
    }

    assert {} == wrong
