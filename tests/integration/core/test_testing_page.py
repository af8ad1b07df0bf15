"""The page on testing says what is so: its snippets are an application whose tests pass."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import tree

pytestmark = pytest.mark.any_server

PAGE = Path("docs/how-to/test-handlers.md")

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"# (\S+\.py)\n")


def files(page: str) -> dict[str, str]:
    """Return the page's files: a snippet names its own, or goes on in the last one's."""
    found: dict[str, str] = {}
    name = ""
    for snippet in _snippets(page):
        named = _NAME.match(snippet)
        name = named[1] if named else name
        found[name] = found.get(name, "") + snippet + "\n\n"
    return found


def _snippets(page: str) -> Iterator[str]:
    for block in _BLOCK.finditer(page):
        yield block[1]


def test_every_snippet_runs(
    tmp_path: Path, database_url: str, db: Connection[TupleRow]
) -> None:
    """All of them, as one application, on a database."""
    written = files(tree.text(PAGE))
    for name, source in written.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    tests = sum(source.count("\ndef test_") for source in written.values())

    plain = ["-q", "-p", "no:cacheprovider", "-W", "error", "--config-file", os.devnull]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "TEST_DATABASE_URL": database_url},
        check=False,
        capture_output=True,
        text=True,
    )

    assert {"myapp/jobs.py", "conftest.py", "test_jobs.py"} == set(written)
    assert tests >= 8
    assert f"{tests} passed" in done.stdout, done.stdout + done.stderr
    ended = "SELECT kind, outcome FROM fairlead.job_history"
    assert [("confirm", "succeeded")] == db.execute(ended).fetchall()


def test_the_snippets_of_a_page_are_sorted_into_files() -> None:
    """By the comment at the top; without one a snippet goes on where the last one ended."""
    blocks = ("python\n# a.py\n1", "python\n2", "sh\nno", "python\n# b/c.py\n3")
    page = "text\n".join(f"```{block}\n```\n" for block in blocks)

    assert {"a.py": "# a.py\n1\n\n\n2\n\n\n", "b/c.py": "# b/c.py\n3\n\n\n"} == files(page)


@pytest.mark.parametrize("name", ["run", "AttemptRecorder", "enqueued", "drain"])
def test_every_public_function_is_on_the_page(name: str) -> None:
    """A name that is not documented is not found."""
    assert f"testing.{name}" in tree.text(PAGE)
