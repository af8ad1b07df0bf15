"""What the process that simulates is told, and how its end is read."""

import signal

import pytest

from fairlead.settings import DatabaseSettings
from fairlead_console.reads import simulator
from fairlead_console.reads.simulator import NoSimulation, Simulated


def test_it_never_sees_by_which_login_people_act(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor who may log in; the database's address is the console's own."""
    monkeypatch.setenv("FAIRLEAD_CONSOLE_OPERATOR_URL", "postgresql://operator:secret@db/x")
    monkeypatch.setenv("FAIRLEAD_CONSOLE_LOGINS", "ada:secret")
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", "postgresql://other")
    given = simulator.environment(DatabaseSettings(database_url="postgresql://viewer@db/x"))

    assert "postgresql://viewer@db/x" == given["FAIRLEAD_DATABASE_URL"]
    assert "secret" not in "".join(given.values())


def test_a_report_is_read_and_so_is_why_there_is_none() -> None:
    """By the exit codes of the command line."""
    assert Simulated({"seed": 1}, "") == simulator.outcome(0, b'{"seed": 1}', b"")
    assert Simulated(None, "nothing waits") == simulator.outcome(
        1, b"", b"fairlead: nothing waits\n"
    )


@pytest.mark.parametrize(
    ("code", "errors", "said"),
    [
        (2, b"fairlead: typer is not installed: pip install 'fairlead[cli]'", "^typer is not"),
        (-signal.SIGXCPU, b"", "more than 45 s of a processor or 512 MiB of memory"),
        (-signal.SIGKILL, b"", "512 MiB of memory"),
        (1, b"Traceback (most recent call last):\n  x\nMemoryError\n", "512 MiB of memory"),
        (1, b"Traceback (most recent call last):\n  x\nKeyError: 1\n", "exit code 1"),
    ],
)
def test_what_went_wrong_is_a_sentence(code: int, errors: bytes, said: str) -> None:
    """And no report, so that nothing is offered on it."""
    with pytest.raises(NoSimulation, match=said):
        simulator.outcome(code, b"", errors)
