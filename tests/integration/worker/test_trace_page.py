"""The page on traces says what is so: its code enqueues, its command runs, all is sent."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.fleet import Fleet
from tests.support import tree
from tests.support.collector import Collector, collecting
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

PAGE = Path("docs/how-to/trace-jobs.md")
ENDPOINT = "http://localhost:4318"
_BLOCK = re.compile(r"^```(python|sql|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROVIDE = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
"""
_HEADERS = "SELECT (payload->>'order')::int, headers FROM fairlead.job_history ORDER BY 1"


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Yield a collector."""
    with collecting() as started:
        yield started


def blocks(language: str) -> list[str]:
    """Return the page's blocks in this language."""
    return [source for found, source in _BLOCK.findall(tree.text(PAGE)) if found == language]


def variables(script: str, url: str) -> dict[str, str]:
    """Return what a script exports, with this collector in the page's place."""
    exported = re.findall(r"^export (\w+)=(.*)$", script, re.MULTILINE)
    return {name: value.replace(ENDPOINT, url) for name, value in exported}


def test_what_the_page_shows_is_what_a_collector_sees(
    fleet: Fleet,
    collector: Collector,
    db: Connection[TupleRow],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """psycopg, SQLAlchemy and plain SQL; a worker by the page's own command."""
    *programs, handlers, _ = blocks("python")
    (insert,), (script,) = blocks("sql"), blocks("sh")
    (tmp_path / "myapp").mkdir()
    (tmp_path / "myapp/jobs.py").write_text(handlers)
    environment = {**os.environ, "FAIRLEAD_DATABASE_URL": fleet.url, "PYTHONPATH": tree.SOURCES}
    subprocess.run(
        [sys.executable, "-c", "\n".join([_PROVIDE, *programs])], env=environment, check=True
    )
    db.execute(insert.encode())

    monkeypatch.chdir(tmp_path)  # where the worker looks for the application
    fleet.environment = variables(script, collector.url)
    fleet.scheduler()
    program, *arguments = shlex.split(script.splitlines()[-1])
    assert "fairlead-worker" == program
    working = fleet.start("worker", "fairlead_worker.main", *arguments)
    endings = until(
        lambda: rows if len(rows := db.execute(_HEADERS).fetchall()) == 3 else None,
        what="three endings",
        seconds=60,
    )
    assert 0 == working.stop()

    runs = {each.job_id: each for each in collector.of("process default")}
    assert {"shop-worker"} == {each.service for each in runs.values()}
    parents = {f"00-{each.trace_id}-{each.parent_id}-01" for each in runs.values()}
    assert 3 == len(parents)
    assert parents == {re.sub("-0[13]$", "-01", row[1]["traceparent"]) for row in endings}
    assert {each.span_id for each in runs.values()} == {
        each.parent_id for each in collector.of("write letter")
    }
    said = [json.loads(line) for line in working.log.read_text("utf-8").splitlines()]
    letters = [each for each in said if each["event"] == "letter written"]
    assert {(each.job_id, each.trace_id) for each in runs.values()} == {
        (each["job"], each["trace_id"]) for each in letters
    }
    assert {1, 2, 3} == {each["order"] for each in letters}


def test_logging_that_is_set_up_as_the_page_shows_names_the_job() -> None:
    """Outside of jobs there is none."""
    *_, set_up = blocks("python")
    program = f"{set_up}\nlogging.warning('closed')"

    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": tree.SOURCES},
        check=True,
        capture_output=True,
        text=True,
    )

    assert "WARNING closed job=None trace=None\n" == done.stderr
