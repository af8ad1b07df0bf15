"""The page on FastAPI: its application has tests that pass, and its commands work."""

import re
import shlex
from pathlib import Path

import httpx2
import pytest

from tests.support import own_tests, page_files, tree
from tests.support.dev import dev_command, project, running_dev
from tests.support.web import served

pytestmark = pytest.mark.any_server

PAGE = Path("docs/how-to/fastapi.md")


_COMMITS = """
import psycopg
from fastapi.testclient import TestClient
from myapp import web
from test_web import ANN, url

def test_what_a_commit_that_fails_is_answered_with(url):
    unique = "ALTER TABLE users ADD UNIQUE (address) DEFERRABLE INITIALLY DEFERRED"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(unique)
    with TestClient(web.app, raise_server_exceptions=False) as client:
        codes = [client.post("/users", params=ANN).status_code for _ in range(2)]
    assert [201, {}] == codes
"""


def commands(program: str) -> list[str]:
    """Return the page's commands of a program."""
    return re.findall(f"^{program} .*$", tree.text(PAGE), re.MULTILINE)


def asked(client: httpx2.Client, curl: str) -> httpx2.Response:
    """Ask what a command of curl asks."""
    words = shlex.split(curl)
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    return client.request(method, words[-1].removeprefix("http://127.0.0.1:8000"))


def test_every_snippet_runs(tmp_path: Path, database_url: str) -> None:
    """All of them, as one application, with its tests."""
    written = page_files.files(tree.text(PAGE))
    page_files.write(written, tmp_path)

    assert 3 == own_tests.passed(tmp_path, database_url)
    assert {"myapp/jobs.py", "myapp/web.py", "myapp/sync_web.py", "test_web.py"} == set(written)


@pytest.mark.parametrize(("taken_out", "code"), [("", 500), (', scope="function"', 201)])
def test_a_request_is_answered_behind_its_commit_with_what_the_page_calls_needed(
    tmp_path: Path, database_url: str, taken_out: str, code: int
) -> None:
    """A constraint that is looked at by the commit is violated."""
    for name, source in page_files.files(tree.text(PAGE)).items():
        assert taken_out in source or name != "myapp/web.py"
        page_files.write({name: source.replace(taken_out, "")}, tmp_path)
    (tmp_path / "test_commits.py").write_text(_COMMITS.format(code))

    assert 1 == own_tests.passed(tmp_path, database_url, "test_commits.py")


@pytest.mark.long
def test_the_commands_of_the_page_sign_a_user_up_and_tell_how_the_job_is() -> None:
    """With a fleet of `fairlead dev`, and with uvicorn."""
    dev, psql = (shlex.split(line)[2:] for line in commands("fairlead dev"))
    (serve,) = commands("uvicorn")
    with project() as folder:
        page_files.write(page_files.files(tree.text(PAGE)), folder)
        with running_dev(*dev[2:], within=folder, app=dev[1]) as fleet:
            made = dev_command(*psql, folder=folder)
            assert 0 == made.returncode, made
            log = folder / "uvicorn.log"
            with served(serve.split()[1], folder, fleet.url, log=log) as client:
                said = [asked(client, line).json() for line in commands("curl")]

    ended = {"state": "succeeded", "result": {"sent_to": "ann@example.com"}}
    assert said == [{"job": 1}, ended, {**ended, "progress": None}, {"answer": "finished"}]
