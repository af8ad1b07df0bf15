"""The arena in which schedules run: one for each test process."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.interleavings import page, pauses
from tests.interleavings.exploring import Arena
from tests.support.databases import cloned_database

Database = Connection[TupleRow]
MakeArena = Callable[..., Arena]


@pytest.fixture(scope="session")
def arena(server: Server, databases: Database) -> Iterator[Arena]:
    """Yield the arena of the product as it is."""
    with ExitStack() as opened:
        yield _made(server, databases, opened)


@pytest.fixture
def make_arena(server: Server, databases: Database) -> Iterator[MakeArena]:
    """Yield a function that makes an arena of which some function is changed."""
    with ExitStack() as opened:

        def make(change: Callable[[str, str], str] | None = None, *, sides: int = 2) -> Arena:
            return _made(server, databases, opened, change, sides=sides)

        yield make


def _made(
    server: Server,
    databases: Database,
    opened: ExitStack,
    change: Callable[[str, str], str] | None = None,
    *,
    sides: int = 2,
) -> Arena:
    url = opened.enter_context(cloned_database(server, over=databases))

    def connect() -> Database:
        return opened.enter_context(psycopg.connect(url, autocommit=True))

    pauses.install(connect(), change)
    return Arena(connect, sides)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Record how much was run, over all test processes, where that is asked for."""
    ran = [
        page.Ran(
            report.nodeid.partition("[")[2].removesuffix("]"),
            {name: int(str(value)) for name, value in report.user_properties},
            report.duration,
            report.passed,
        )
        for report in (
            *terminalreporter.getreports("passed"),
            *terminalreporter.getreports("failed"),
        )
        if "tests/interleavings" in report.nodeid and report.user_properties
    ]
    if ran and os.environ.get(page.RECORD):
        page.write(ran)
