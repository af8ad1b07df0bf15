"""A command prints the password: bounded, without a shell, and nothing of it is repeated."""

import shlex
import sys
import threading
from pathlib import Path
from time import monotonic

import pytest
from pydantic import ValidationError

from fairlead.db.connect import Unreachable, connect, with_password
from fairlead.db.password import BYTES_MAX, NoPassword, ask
from fairlead.runtime.orphans import reap_orphans
from fairlead.settings import DatabaseSettings, explain
from fairlead_cli.dev import process_table
from tests.support.waiting import until

URL = "postgresql://app_worker:old@db.example:6432/app"
SECRET = "x7q9kw"


def printing(source: str) -> str:
    """Return a command that runs a program in Python."""
    return shlex.join([sys.executable, "-S", "-c", source])


def refused(command: str, *, seconds: float = 20.0) -> str:
    """Return the sentence about a command that prints no password."""
    with pytest.raises(NoPassword) as refusal:
        ask(command, URL, seconds=seconds)
    return str(refusal.value)


def test_the_one_line_that_it_prints_replaces_the_password_of_the_url() -> None:
    """Also from a file that is read anew, whose URL may have none."""
    settings = DatabaseSettings(
        database_url=URL, database_password_command=printing(f"print('{SECRET}')")
    )

    found = with_password(settings)

    assert SECRET in found
    assert "old" not in found


def test_it_is_told_where_the_connection_goes() -> None:
    """One command makes the tokens of every program, whose logins differ."""
    source = "import os; print('{PGUSER} {PGHOST} {PGPORT} {PGDATABASE}'.format(**os.environ))"

    assert "app_worker db.example 6432 app" == ask(printing(source), URL, seconds=20)


def test_no_shell_reads_it() -> None:
    """A quotation makes one word, and nothing else is special."""
    assert "$HOME ; echo two" == ask("echo '$HOME ; echo two'", URL, seconds=20)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/nowhere/token", "/nowhere/token cannot be run: No such file or directory"),
        (printing("raise SystemExit(3)"), "ended with exit code 3: run it by hand"),
        (printing("import os; os.abort()"), "ended with signal 6"),
        (printing("pass"), "printed nothing"),
        (printing(f"print('{SECRET}'); print('{SECRET}')"), "printed 2 lines"),
        (printing("import os; os.write(1, b'x7q\\xff9kw')"), "printed no UTF-8"),
        (printing(f"print('{SECRET}' * 10000)"), f"printed more than {BYTES_MAX} bytes"),
        (printing(f"import sys; sys.exit('{SECRET}')"), "ended with exit code 1"),
    ],
    ids=["missing", "code", "signal", "nothing", "lines", "bytes", "much", "stderr"],
)
def test_what_prints_no_password_is_refused_in_one_sentence(
    command: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The sentence names the program and repeats neither its arguments nor what it printed."""
    sentence = refused(command)

    assert said in sentence
    assert "\n" not in sentence
    assert SECRET not in sentence + "".join(capfd.readouterr())
    assert "SystemExit" not in sentence


def test_it_is_killed_with_what_it_has_started(tmp_path: Path) -> None:
    """A connection attempt ends, and no process is left behind."""
    note = tmp_path / "pid"
    source = (
        "import pathlib, subprocess, time\n"
        f"pid = subprocess.Popen(['sleep', '900']).pid\n"
        f"pathlib.Path({str(note)!r}).write_text(str(pid))\n"
        "time.sleep(900)"
    )
    before = monotonic()

    sentence = refused(printing(source), seconds=2)

    assert "did not end within 2 s and was killed" in sentence
    assert monotonic() - before < 20
    started = int(note.read_text())
    until(lambda: not process_table.is_alive(started), what="its end", seconds=10)


def test_one_that_prints_without_end_is_stopped_at_the_bound() -> None:
    """It holds neither the attempt nor the memory."""
    assert "printed more than" in refused("yes", seconds=30)


def test_who_reaps_orphans_leaves_it_alone() -> None:
    """A worker's parent would take its exit code, and a failure would look like success."""
    over = threading.Event()

    def reap() -> None:
        while not over.is_set():
            reap_orphans(())

    reaping = threading.Thread(target=reap)
    reaping.start()
    try:
        said = {refused(printing("raise SystemExit(3)")) for _ in range(10)}
    finally:
        over.set()
        reaping.join()

    assert ["ended with exit code 3" in each for each in said] == [True]


def test_a_connection_is_refused_in_the_settings_name() -> None:
    """As if the database could not be reached: a service waits and tries again."""
    settings = DatabaseSettings(database_url=URL, database_password_command="false")

    with pytest.raises(Unreachable) as refusal:
        connect(settings, name="test")

    assert str(refusal.value).startswith(
        "FAIRLEAD_DATABASE_PASSWORD_COMMAND: false ended with exit code 1"
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"token '{SECRET}", "has a quotation that does not end"),
        ("'' x", "names no program"),
        ("  ", "names no program"),
    ],
)
def test_a_command_that_cannot_be_called_is_refused_at_the_start(
    command: str, said: str
) -> None:
    """The sentence names the variable and repeats nothing of the value."""
    with pytest.raises(ValidationError) as refusal:
        DatabaseSettings(database_password_command=command)

    assert f"FAIRLEAD_DATABASE_PASSWORD_COMMAND: {said}" == explain(refusal.value)


def test_settings_that_are_printed_do_not_show_it() -> None:
    """Its arguments may hold a secret."""
    assert SECRET not in repr(DatabaseSettings(database_password_command=f"echo {SECRET}"))
