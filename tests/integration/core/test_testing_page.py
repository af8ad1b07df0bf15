"""The page on testing says what is so: its snippets are an application whose tests pass."""

from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import own_tests, page_files, tree

pytestmark = pytest.mark.any_server

PAGE = Path("docs/how-to/test-handlers.md")


def test_every_snippet_runs(
    tmp_path: Path, database_url: str, db: Connection[TupleRow]
) -> None:
    """All of them, as one application, on a database."""
    written = page_files.files(tree.text(PAGE))
    page_files.write(written, tmp_path)
    tests = sum(source.count("\ndef test_") for source in written.values())

    passed = own_tests.passed(tmp_path, database_url)

    assert {"myapp/jobs.py", "conftest.py", "test_jobs.py"} == set(written)
    assert 8 <= tests == passed
    ended = "SELECT kind, outcome FROM fairlead.job_history"
    assert [("confirm", "succeeded")] == db.execute(ended).fetchall()


@pytest.mark.parametrize("name", ["run", "AttemptRecorder", "enqueued", "drain"])
def test_every_public_function_is_on_the_page(name: str) -> None:
    """A name that is not documented is not found."""
    assert f"testing.{name}" in tree.text(PAGE)
