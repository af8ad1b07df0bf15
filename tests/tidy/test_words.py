"""Names say what a thing is, suppressions say why, and no text tells where it was made."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import tree

BANNED = {"manager", "managers", "helper", "helpers", "util", "utils"}
REASON_WORDS_LOWEST = 3

SUPPRESSION = re.compile(
    r"#\s*(noqa|type:\s*ignore|pyright:|mypy:|pragma:|ruff:|fmt:)"
    r"(?P<rules>:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*|\[[\w, -]+\])?"
    r"(?P<reason>.*)"
)

# Brackets keep these patterns from matching their own text.
MACHINE = re.compile(r"(?<![\w.])/(?:[w]ork|[f]arm|[r]oot|[h]ome/\w+|[U]sers/\w+)/")
REGISTRY = re.compile(
    r"://[a-z0-9.-]*(?:python[h]|py[p]i\.|npm[j]|go[l]ang|de[b]ian|crate[s]|mave[n])"
)
WORKPLACE = re.compile(r"\b(?:issue #?\d+|s[i]ttings?)\b", re.IGNORECASE)


def words(name: str) -> set[str]:
    """Split an identifier or a file's name into lower-case words."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return set(re.split(r"[^a-z0-9]+", spaced.lower()))


def defined(module: ast.Module) -> Iterator[str]:
    """Yield every name that a module gives to something."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def unexplained(source: str) -> tuple[int, ...]:
    """Return the lines with a suppression that names no rule or gives no reason."""
    found: list[int] = []
    if SUPPRESSION.search(source) is None:
        return ()  # reading its tokens takes longer
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    for token in tokens:
        match = SUPPRESSION.search(token.string) if token.type == tokenize.COMMENT else None
        if match and len(re.findall(r"\w+", match["reason"])) < REASON_WORDS_LOWEST:
            found.append(token.start[0])
    return tuple(found)


def revealing(text: str) -> tuple[str, ...]:
    """Return what a text tells of a machine, a registry or the way the work was organised."""
    return tuple(
        match[0]
        for pattern in (MACHINE, REGISTRY, WORKPLACE)
        for match in pattern.finditer(text)
    )


def test_no_name_is_a_word_that_says_nothing() -> None:
    """Nothing is called manager, helper or utils: neither a file nor a thing in it."""
    ours = [path for path in tree.files() if path.parts[0] in {*tree.ROOMS, "tests"}]
    files = [path for path in ours if any(words(part) & BANNED for part in path.parts)]
    names = [
        f"{path}: {name}"
        for path in ours
        if path.suffix == ".py"
        for name in defined(tree.module(path))
        if words(name) & BANNED
    ]

    assert ([], []) == (files, names)


def test_every_suppression_names_its_rule_and_its_reason() -> None:
    """Every noqa, type: ignore and pragma carries its reason."""
    found = {path: unexplained(tree.text(path)) for path in tree.files(".py")}

    assert {} == {path: lines for path, lines in found.items() if lines}


def test_every_disabled_lint_carries_its_reason() -> None:
    """Every rule that pyproject.toml turns off has a comment beside it."""
    entries = re.findall(
        r'^ +"[A-Z]+[0-9]*",.*$', tree.text(Path("pyproject.toml")), re.MULTILINE
    )

    assert entries
    assert [] == [entry for entry in entries if "#" not in entry]


def test_nothing_tells_of_the_machine_or_the_registry_that_it_was_made_with() -> None:
    """No path of a machine and no host of a registry stands in the tree."""
    found = {path: revealing(tree.text(path)) for path in tree.files() if is_text(path)}

    assert {} == {path: matches for path, matches in found.items() if matches}


def is_text(path: Path) -> bool:
    """Tell whether a file holds text."""
    return b"\0" not in (tree.ROOT / path).read_bytes()


@pytest.mark.parametrize(
    "name", ["JobManager", "lease_helper", "utils", "StringUtils", "HELPERS"]
)
def test_the_name_rule_sees_banned_words_in_every_spelling(name: str) -> None:
    """Camel case, snake case, upper case and plurals are the same word."""
    assert words(name) & BANNED


@pytest.mark.parametrize("name", ["contextmanager", "managed", "utility"])
def test_the_name_rule_lets_other_words_pass(name: str) -> None:
    """A word that only contains a banned one is another word."""
    assert not words(name) & BANNED


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: S108",
        "# type: ignore",
        "# type: ignore[arg-type]",
        "# pragma: no cover",
    ],
)
def test_the_suppression_rule_refuses_one_without_a_reason(comment: str) -> None:
    """A bare suppression is an offence, whatever its tool."""
    assert (1,) == unexplained(f"x = 1  {comment}\n")


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: S108 - mkdtemp makes a private folder in it",
        "# type: ignore[arg-type]  # the stub of 3.2 lacks None here",
        "# pragma: no cover - only a power cut gets here",
    ],
)
def test_the_suppression_rule_accepts_one_with_a_reason(comment: str) -> None:
    """A suppression with a rule and a reason passes."""
    assert () == unexplained(f"x = 1  {comment}\n")


def test_the_machine_rule_sees_paths_and_hosts_and_lets_links_pass() -> None:
    """An absolute path of a person's machine and a registry's host differ from a link."""
    assert revealing("see /" + "work/main")
    assert revealing("https://files.python" + "hosted.org/x")
    assert revealing("fixes issue " + "#12")
    assert () == revealing("https://www.postgresql.org/docs/root/ and docs/work/x.md")
