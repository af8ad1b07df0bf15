"""`fairlead top` on a terminal, and which workers and jobs it counts."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead
from tests.support.children import register

SECONDS = 30
LEASED = """
    WITH made AS (
        INSERT INTO fairlead.jobs (kind) SELECT 'k' FROM generate_series(1, %s)
        RETURNING id, queue, tenant
    )
    INSERT INTO fairlead.work_queue (
        job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant,
        worker, token, claimed_at, deadline)
    SELECT id, 1, 1, 1, now(), '1 min', 0, 'default', queue, tenant, %s, id, now(),
        now() + interval '1 min' FROM made
"""


@contextmanager
def on_a_terminal(database_url: str) -> Generator[tuple[subprocess.Popen[bytes], int]]:
    """Yield `fairlead top` with a terminal of its own, and that terminal's other end."""
    end, terminal = pty.openpty()
    watching = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "top", "--every", "3600"],
        stdin=terminal,
        stdout=terminal,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "FAIRLEAD_DATABASE_URL": database_url},
    )
    os.close(terminal)
    try:
        yield watching, end
    finally:
        watching.kill()
        watching.wait()
        os.close(end)


# Makes the terminal its session's own, as a shell does.
PROGRAM = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.tcsetpgrp(0, os.getpgrp())
from fairlead_cli.main import main
main()
"""


def read_until(end: int, said: bytes) -> None:
    """Read what is drawn up to some words."""
    drawn, until = b"", monotonic() + SECONDS
    while said not in drawn:
        assert select.select([end], [], [], until - monotonic())[0], drawn
        drawn += os.read(end, 65_536)


@pytest.mark.parametrize(
    ("keys", "code"), [(b"q", 0), (b"xQ", 0), (b"\x03", 130)], ids=["q", "Q", "ctrl-c"]
)
def test_a_key_ends_it_at_once(database_url: str, keys: bytes, code: int) -> None:
    """Though it rests for an hour between two looks; the terminal is as it was then."""
    with on_a_terminal(database_url) as (watching, end):
        before = termios.tcgetattr(end)[3]
        read_until(end, b"(q quits)")

        os.write(end, keys)

        assert code == watching.wait(SECONDS)
        assert b"" == watching.communicate()[1]
        assert before == termios.tcgetattr(end)[3]


def test_in_the_background_it_leaves_the_terminal_alone(database_url: str) -> None:
    """Setting it up would stop it, as the shell's own rules say."""
    end, terminal = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "fairlead_cli", "top", "--every", "0.1", "--count", "2"],
        stdin=terminal,
        stdout=terminal,
        env={**os.environ, "FAIRLEAD_DATABASE_URL": database_url},
    ) as watching:
        drained = monotonic() + SECONDS
        while watching.poll() is None and monotonic() < drained:
            if select.select([end], [], [], 0.1)[0]:
                os.read(end, 65_536)
        watching.send_signal(signal.SIGKILL)
    os.close(terminal)
    os.close(end)

    assert 0 == watching.returncode


def test_what_runs_is_told_from_what_is_held(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """27 jobs do not run on 20 slots."""
    busy, waiting = register(db, slots=20, name="busy"), register(db, slots=4, name="waiting")
    db.execute(LEASED, [27, busy])
    db.execute(LEASED, [3, waiting])
    db.execute("UPDATE fairlead.worker_leases SET beside = 2 WHERE id = %s", [waiting])

    line = fairlead("top", "--count", "1")
    listed = json.loads(fairlead("workers", "list", "--json"))

    assert "queued 0 running 21 held 9 " in line
    assert [("busy", 20, 7), ("waiting", 1, 2)] == [
        (row["name"], row["running"], row["held"]) for row in listed
    ]
    assert "20/20     7" in fairlead("workers", "list")


def test_a_dead_worker_is_forgotten_after_a_minute(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """The list of workers shows it for an hour, and --all whenever it died."""
    for name, died in (("now", "1 second"), ("lately", "2 minutes"), ("long", "2 hours")):
        worker = register(db, slots=1, name=name)
        db.execute(
            "UPDATE fairlead.worker_leases SET dead_at = now() - %s::interval WHERE id = %s",
            [died, worker],
        )

    shown = json.loads(fairlead("top", "--json"))["workers"]
    listed = json.loads(fairlead("workers", "list", "--json"))
    every = json.loads(fairlead("workers", "list", "--all", "--json"))

    assert [["now"], ["lately", "now"], ["lately", "long", "now"]] == [
        sorted(row["name"] for row in rows) for rows in (shown, listed, every)
    ]
