"""`fairlead dev` keeps its whole fleet up, PostgreSQL included."""

import os
import signal
from contextlib import closing

import psycopg
import pytest

from fairlead_cli.dev import process_table
from fairlead_cli.dev.binaries import PostgresError
from fairlead_cli.dev.postgres import Server
from fairlead_cli.dev.supervised_server import SupervisedServer
from tests.support.dev import dev_command, project, running_dev
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

ENDED = "SELECT count(*) FROM fairlead.job_history WHERE outcome = 'succeeded'"

ATTEMPTS = "SELECT attempts FROM fairlead.jobs WHERE kind = 'sleeps'"


def ended(url: str) -> int:
    """Return how many jobs have succeeded; 0 while the server does not answer."""
    try:
        with closing(psycopg.connect(url, autocommit=True)) as connection:
            row = connection.execute(ENDED).fetchone()
    except psycopg.OperationalError:
        return 0
    return int(row[0]) if row else 0


def running(url: str) -> int:
    """Return how many jobs run."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT coalesce(sum(running), 0) FROM fairlead.workers"
        ).fetchone()
    return int(row[0]) if row else 0


def enqueue(url: str, kind: str = "k") -> None:
    """Insert one job."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("INSERT INTO fairlead.jobs (kind) VALUES (%s)", [kind])


@pytest.mark.long
def test_dev_starts_a_killed_server_again_and_jobs_go_on() -> None:
    """After a SIGKILL of the postmaster the URL works again, and what had ended is there."""
    with running_dev() as dev:
        enqueue(dev.url)
        until(lambda: ended(dev.url) == 1, what="the end of a job", seconds=30)

        os.kill(int((dev.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

        until(lambda: ended(dev.url) == 1, what="the server's return", seconds=30)
        enqueue(dev.url)
        until(lambda: ended(dev.url) == 2, what="the end of another job", seconds=30)
        assert "postgres ended; starting it again" in dev.said.read_text()


def test_what_handlers_print_is_seen_until_a_closed_terminal_stops_the_fleet() -> None:
    """It waits in no buffer for more of it, or for the end.

    A closed terminal stops the fleet as Ctrl-C does: no process runs on, and what had ended is
    kept.
    """
    with running_dev() as dev:
        enqueue(dev.url, "says")
        enqueue(dev.url, "says_apart")
        lines = ("worker-1 said by a thread\n", "worker-1 said by a process\n")
        until(
            lambda: all(line in dev.said.read_text() for line in lines),
            what="what was printed",
            seconds=60,
        )
        until(lambda: ended(dev.url) == 2, what="the end of both jobs", seconds=30)
        fleet = {dev.pid, *process_table.children(dev.pid)}

        os.kill(dev.pid, signal.SIGHUP)

        until(lambda: not fleet & process_table.living().keys(), what="its end", seconds=30)
        assert len(fleet) >= 4  # PostgreSQL, a scheduler and a worker beside it
        assert dev.said.read_text().endswith("stopped; the data stays for the next time\n")


@pytest.mark.long
def test_it_says_what_it_waits_for_and_a_second_ctrl_c_hands_it_back() -> None:
    """The jobs by kind, and how long; the second Ctrl-C uses up no attempt."""
    with project() as folder:
        with running_dev("--grace-seconds", "60", within=folder) as dev:
            with psycopg.connect(dev.url, autocommit=True) as connection:
                connection.execute(
                    "INSERT INTO fairlead.jobs (kind, payload) SELECT 'sleeps', '55'"
                    " FROM generate_series(1, 2)"
                )
            until(lambda: running(dev.url) == 2, what="two running jobs", seconds=30)

            os.kill(dev.pid, signal.SIGINT)

            until(
                lambda: "waiting up to" in dev.said.read_text(), what="a sentence", seconds=15
            )
        # The end of `running_dev` is the second Ctrl-C.
        said = dev.said.read_text()
        attempts = dev_command("psql", "-Atc", ATTEMPTS, folder=folder)

    assert "s for 2 jobs: 2 sleeps (the oldest for " in said
    assert "Ctrl-C again: they go back now" in said
    assert "0\n0\n" == attempts.stdout


def test_a_server_that_does_not_come_back_is_given_up(own_server: Server) -> None:
    """After five failed starts the last one's error is the answer, and each was said."""
    said: list[str] = []
    lasting = SupervisedServer(own_server, lambda _name, line: said.append(line))
    own_server.kill()
    (own_server.data_dir / "global" / "pg_control").unlink()

    def given_up() -> bool:
        try:
            lasting.revive()
        except PostgresError as error:
            return "PostgreSQL does not stay up: " in str(error)
        return False

    until(given_up, what="the end of all tries", seconds=30)

    assert "ended; starting it again" == said[0]
    assert 6 == len(said)
