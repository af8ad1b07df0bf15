"""The demo's handlers: what an application of Fairlead looks like.

`measure` parses one source file and writes what it found through its own transaction, which
also finishes the job: the measurement and the job's end are committed together or not at all.
"""

import ast
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg

import fairlead
from fairlead.db.statements import load

tasks = fairlead.Tasks()


class _Mine(threading.local):
    """What each handler's thread has for itself."""

    session: psycopg.Connection[tuple[object, ...]] | None = None


_mine = _Mine()


@contextmanager
def _transaction() -> Generator[psycopg.Connection[tuple[object, ...]]]:
    """Open a transaction in this thread's session: a new one costs more than most jobs here."""
    if _mine.session is None or _mine.session.closed:
        url = os.environ["FAIRLEAD_DATABASE_URL"]
        _mine.session = psycopg.connect(url, autocommit=True)
    with _mine.session.transaction():
        yield _mine.session


@tasks.handler("measure", timeout=60)
def measure(job: fairlead.Job[dict[str, str]]) -> None:
    """Parse one file; store its lines, functions and classes."""
    path = Path(job.payload["path"])
    source = path.read_bytes()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        # Test data that is meant to be broken: a measurement too, and no reason to try again.
        nodes: list[ast.AST] = []
        problem: str | None = f"{type(error).__name__}: {error}"
    else:
        nodes = list(ast.walk(tree))
        problem = None
    with _transaction() as connection:
        connection.execute(
            load("examples.demo", "measure"),
            {
                "job_id": job.id,
                "package": job.tenant,
                "path": str(path),
                "lines": source.count(b"\n") + 1,
                "functions": _count(nodes, ast.FunctionDef, ast.AsyncFunctionDef),
                "classes": _count(nodes, ast.ClassDef),
                "nodes": len(nodes),
                "problem": problem,
            },
        )
        job.complete(connection)


def _count(nodes: list[ast.AST], *kinds: type[ast.AST]) -> int:
    return sum(isinstance(node, kinds) for node in nodes)


@tasks.handler("roll_up", timeout=30)
def roll_up(job: fairlead.Job) -> None:
    """Sum up one package, as a nightly report would."""
    with _transaction() as connection:
        connection.execute(load("examples.demo", "roll_up"), {"package": job.tenant})
        job.complete(connection)


@tasks.handler("urgent", timeout=10)
async def urgent(job: fairlead.Job) -> dict[str, str]:
    """Answer at once: a caller waits."""
    return {"answered": job.tenant}


@tasks.handler("remind", timeout=10)
async def remind(job: fairlead.Job) -> dict[str, str]:
    """Do what was asked for a moment ago."""
    return {"reminded": job.tenant}
