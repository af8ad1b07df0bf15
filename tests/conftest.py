"""What every test may ask for: a migrated database, connections to it, a thread to block in."""

import gc
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, TypeVar
from zlib import crc32

import hypothesis
import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_cli.dev.postgres import Server
from tests.support import counted, leftovers
from tests.support.databases import (
    FAST,
    cloned_database,
    fast_folder,
    make_template,
    running_server,
)
from tests.support.logged import Lines, logging
from tests.support.logins import LogIn, as_login, login

T = TypeVar("T")

# A test ignores the variables of the shell, except FAIRLEAD_TEST_*, which configure the tests.
for _name in list(os.environ):
    if _name.startswith(("FAIRLEAD_", "OTEL_", "PG")) and not _name.startswith(
        "FAIRLEAD_TEST_"
    ):
        del os.environ[_name]

# A shell's background job ignores SIGINT, and so would whatever the tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# What nohup has begun ignores SIGHUP, which the services leave so, and tests close terminals.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Collecting makes many objects and no garbage: looking for some took a fifth of its time.
gc.set_threshold(50_000, 50, 100)

# A deadline per example measures the machine's load; pytest's timeout bounds the whole test.
# `make test` draws a few examples, `make test-long` many, both from the Makefile's SEED.
for _profile, _examples in (("sample", 20), ("thorough", 100)):
    hypothesis.settings.register_profile(
        _profile, max_examples=_examples, deadline=None, print_blob=True
    )
hypothesis.settings.load_profile("sample")


_GIVING_WAY = 5  # niceness: a third of the weight


def pytest_configure(config: pytest.Config) -> None:
    """Have no server or program outlive a run that is killed, with all its processes."""
    config.pluginmanager.register(counted)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        leftovers.end_with_this_run()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mix modules whose tests wait with those whose tests compute, for processes side by side.

    In the order of their names all processes wait at one time and want the cores at another.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: crc32(item.nodeid.partition("::")[0].encode()))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave the cores to the chaos, whose fleets are to recover in seconds, while it runs.

    It is the largest group, so some test process begins with it; the others give way from their
    first test on, and so does what they start.
    """
    group = item.get_closest_marker("xdist_group")
    chaos = group is not None and "chaos" in group.args
    if "PYTEST_XDIST_WORKER" in os.environ and not chaos and os.nice(0) < _GIVING_WAY:
        os.nice(_GIVING_WAY - os.nice(0))


class Connect(Protocol):
    """Opens connections to the test's database, all closed when the test ends."""

    def __call__(self, *, autocommit: bool = True) -> Connection[TupleRow]:
        """Open one more connection."""
        ...


class Background(Protocol):
    """Runs calls that will block, each in a thread of its own."""

    def __call__(self, call: Callable[[], T], /) -> Future[T]:
        """Start the call; ask the future for its result after what it waits for was done."""
        ...


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Yield this test process's server, which holds the template; no test stops or kills it."""
    with running_server(FAST, within=fast_folder()) as running:
        make_template(running)
        yield running


@pytest.fixture(scope="session")
def databases(server: Server) -> Iterator[Connection[TupleRow]]:
    """Yield the connection over which this test process makes databases and drops them."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def database_url(server: Server, databases: Connection[TupleRow]) -> Iterator[str]:
    """Yield the URL of a migrated database that belongs to this test alone."""
    with cloned_database(server, over=databases) as url:
        yield url


@pytest.fixture
def connect(database_url: str) -> Iterator[Connect]:
    """Yield a function that opens connections to this test's database."""
    with ExitStack() as opened:

        def open_one(*, autocommit: bool = True) -> Connection[TupleRow]:
            connection = psycopg.connect(database_url, autocommit=autocommit)
            opened.callback(connection.close)
            return connection

        yield open_one


@pytest.fixture
def db(connect: Connect) -> Connection[TupleRow]:
    """Return one autocommit connection to this test's database, as the superuser."""
    return connect()


@pytest.fixture
def log_in(database_url: str) -> Iterator[LogIn]:
    """Yield a function that makes logins of given roles, which all go when the test ends."""
    with ExitStack() as made:

        def log_in_one(*roles: str) -> Connection[TupleRow]:
            name = made.enter_context(login(database_url, *roles))
            url = as_login(database_url, name)
            return made.enter_context(psycopg.connect(url, autocommit=True))

        yield log_in_one


@pytest.fixture
def logged() -> Iterator[Lines]:
    """Yield what this process logs from now on."""
    with logging() as lines:
        yield lines


@pytest.fixture
def background() -> Iterator[Background]:
    """Yield a function that runs a call in a thread.

    Declared after the connections that the call uses, it waits for the calls before those are
    closed; a test unblocks what it started.
    """
    with ThreadPoolExecutor(max_workers=8) as threads:
        yield threads.submit


@pytest.fixture(scope="session")
def migrated_data() -> Iterator[Path]:
    """Yield the data folder of a stopped server with a migrated database."""
    with running_server(FAST, within=fast_folder()) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            migrate(connection)
        running.stop()
        yield running.data_dir


@pytest.fixture
def own_server(migrated_data: Path) -> Iterator[Server]:
    """Yield a durable, migrated server of this test's own, which it may kill and restart."""
    with running_server({}, within=fast_folder(), data=migrated_data) as running:
        yield running
