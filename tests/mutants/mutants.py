"""A mutant: the product with one mend taken back or one condition weakened, and what kills it.

The mutants stand in the `.toml` files beside this one, a file for each kind of hole:

    [[mutant]]
    name = "an ending compares ids and tokens crosswise"
    why = "After a fail-over old pairs match new ones, and a job ends with a wrong result."
    tests = ["tests/integration/worker/test_finish.py::test_a_pair_is_compared"]

    [[mutant.changes]]
    file = "worker/fairlead_worker/sql/finish.sql"
    find = "what stands there once"
    replace = "what the mutant has in its place"

A change of a function of the schema names it instead of a file: `function = "_own"` stands for
the newest migration that defines it, since what an older one says has no effect.

A mutant that no test can tell from the product says why: `equivalent = "…"`; it is not judged.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import tree

FOLDER = Path(__file__).parent
_DEFINED = re.compile(r"create (?:or replace )?function fairlead\.(\w+)\s*\(", re.IGNORECASE)
TIMEOUT_S = 500.0
_SAID = re.compile(r"^(?:E  .*|FAILED .*|ERROR .*|.*_SEED=\d+)$", re.MULTILINE)
_SAID_LINES_MAX = 12
GENERATED = "not long and not proof"
"""The marks of tests that judge generated mutants, which name whole files."""
_PASSED, _FAILED = 0, 1  # pytest's exit codes; every other one says that the tests did not run


class Verdict(Enum):
    """What the tests said of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    EQUIVALENT = "equivalent"
    BROKEN = "the tests did not run"


@dataclass(frozen=True, slots=True)
class Change:
    """One place of a mutant: `replace` stands for `find`, which `file` has exactly once."""

    file: str
    find: str
    replace: str

    def is_in(self, root: Path) -> bool:
        """Return whether the text is there, and there only."""
        return (root / self.file).read_text("utf-8").count(self.find) == 1

    def make(self, root: Path) -> None:
        """Put the mutant's text in the place of the product's.

        Raises:
            ValueError: the text is not there exactly once.
        """
        if not self.is_in(root):
            message = f"{self.file} has another number than one of: {self.find}"
            raise ValueError(message)
        path = root / self.file
        path.write_text(path.read_text("utf-8").replace(self.find, self.replace), "utf-8")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One defect, and the tests of which one at least has to fail.

    Args:
        name: what it is.
        why: what goes wrong with it; nobody has said it of those that are generated.
        tests: which judge it.
        changes: the places in which it is not the product.
        equivalent: why no test can tell it from the product, if none can.
        source: the statement, function or module that it was generated from.
    """

    name: str
    why: str
    tests: tuple[str, ...]
    changes: tuple[Change, ...]
    equivalent: str = ""
    source: str = ""


def mutants() -> list[Mutant]:
    """Return all, by file and in the order of each file."""
    return [
        Mutant(
            each["name"],
            each["why"],
            tuple(each["tests"]),
            tuple(_change(**change) for change in each["changes"]),
            equivalent=each.get("equivalent", ""),
        )
        for path in sorted(FOLDER.glob("*.toml"))
        for each in tomllib.loads(path.read_text("utf-8")).get("mutant", [])
    ]


def _change(*, find: str, replace: str, file: str = "", function: str = "") -> Change:
    return Change(file or newest_definitions()[function], find, replace)


@cache
def newest_definitions() -> dict[str, str]:
    """Return the migration in which each function of the schema was last defined."""
    return {
        name: str(path)
        for path in tree.files(".sql")
        if path.match("core/fairlead/db/migrations/[0-9]*")
        for name in _DEFINED.findall(tree.text(path))
    }


@contextmanager
def copied_tree() -> Generator[Path]:
    """Copy what git knows into a repository of its own, for mutants to be made in.

    Tests that ask git for files find them there.
    """
    with TemporaryDirectory(prefix="fairlead-mutants-") as folder:
        root = Path(folder)
        root.chmod(0o755)  # programs of other users run from it
        for path in tree.files():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(tree.ROOT / path, root / path)
        subprocess.run(["/usr/bin/env", "git", "init", "-q"], cwd=root, check=True)
        yield root


def judge(mutant: Mutant, root: Path) -> Verdict:
    """Run the mutant's tests on it; the copy is as before afterwards."""
    if mutant.equivalent:
        return Verdict.EQUIVALENT
    with made(mutant, root):
        return run(mutant.tests, root, marks=GENERATED if mutant.source else "")


@contextmanager
def made(mutant: Mutant, root: Path) -> Generator[None]:
    """Have the mutant stand in a copied tree, which is as before afterwards."""
    files = {change.file for change in mutant.changes}
    before = {file: (root / file).read_bytes() for file in files}
    try:
        for change in mutant.changes:
            change.make(root)
        yield
    finally:
        for file, content in before.items():
            (root / file).write_bytes(content)


def run(tests: Iterable[str], root: Path, *, marks: str = "") -> Verdict:
    """Run these tests of a copied tree; they survive what passes all of them.

    Tests that do not come to their end have failed: some mutants repeat something for ever.

    Args:
        tests: files, or tests in them.
        root: the copied tree.
        marks: which of them, by their marks; empty: all.
    """
    try:
        verdict, said = ran(tests, root, marks=marks)
    except subprocess.TimeoutExpired:
        return Verdict.KILLED
    if verdict is Verdict.BROKEN:
        sys.stderr.write(said)
    return verdict


def ran(
    tests: Iterable[str], root: Path, *, marks: str = "", timeout_s: float = TIMEOUT_S
) -> tuple[Verdict, str]:
    """Run these tests of a copied tree; return what became of them, and what they said of it.

    Raises:
        subprocess.TimeoutExpired: they did not come to their end.
    """
    sources = os.pathsep.join(str(root / each) for each in ("", *tree.ROOMS))
    options = ("-x", "-q", "-m", marks, "-p", "no:cacheprovider")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=root,
        env={**os.environ, "PYTHONPATH": sources, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if done.returncode == _FAILED:
        said = _SAID.findall(done.stdout)[:_SAID_LINES_MAX]
        return Verdict.KILLED, "".join(f"    {each[:300]}\n" for each in said)
    if done.returncode == _PASSED and " passed" in done.stdout:  # and not all of them skipped
        return Verdict.SURVIVED, ""
    return Verdict.BROKEN, done.stdout[-2_000:] + done.stderr[-2_000:]
