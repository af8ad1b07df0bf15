"""The database's password from a command, for passwords that expire: tokens of a cloud's IAM.

The command runs without a shell before each connection attempt, with the attempt's own address
in libpq's variables, so one command serves every program. It is bounded in time and in output.
What it prints is never logged, and neither are its arguments: both may be secrets.
"""

import contextlib
import os
import select
import shlex
import signal
import subprocess
from collections.abc import Mapping
from time import monotonic

from psycopg.conninfo import conninfo_to_dict

from fairlead.runtime.orphans import waited_for

BYTES_MAX = 16 * 1024
"""Most bytes of output; tokens of the large clouds have at most a quarter of it."""

_VARIABLES = {
    "host": "PGHOST",
    "hostaddr": "PGHOSTADDR",
    "port": "PGPORT",
    "user": "PGUSER",
    "dbname": "PGDATABASE",
}


class NoPassword(Exception):
    """The command printed no password; the message is a sentence without the setting's name."""


def words(command: str) -> tuple[str, ...]:
    """Return a command's words, which are quoted as for a shell, and in which nothing expands.

    Raises:
        ValueError: there is no word, or a quotation has no end.
    """
    try:
        found = tuple(shlex.split(command))
    except ValueError:
        raise ValueError("has a quotation that does not end") from None
    if not found or not found[0]:
        raise ValueError("names no program")
    return found


def ask(command: str, conninfo: str, *, seconds: float) -> str:
    """Run a command and return the one line that it prints.

    Args:
        command: as `words` reads it.
        conninfo: the valid connection string of the attempt.
        seconds: until the command, and what it has started, is killed.

    Raises:
        NoPassword: it printed none.
    """
    called = words(command)
    try:
        with waited_for(lambda: _started(called, _environment(conninfo))) as process:
            output = _output(process, monotonic() + seconds)
    except subprocess.TimeoutExpired:
        raise NoPassword(
            f"{called[0]} did not end within {seconds:g} s and was killed: find out why, or "
            "raise FAIRLEAD_DATABASE_PASSWORD_SECONDS"
        ) from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "a word holds a null character"
        raise NoPassword(
            f"{called[0]} cannot be run: {said}; name a program that is here, and no shell's "
            "syntax"
        ) from None
    return _password(called[0], process.returncode, output)


def _environment(conninfo: str) -> Mapping[str, str]:
    """Return this process's variables, and those that say where the connection goes."""
    address = conninfo_to_dict(conninfo)
    named = {_VARIABLES[key]: str(address[key]) for key in _VARIABLES if address.get(key)}
    return {**os.environ, **named}


def _started(
    called: tuple[str, ...], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        called,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a script that traces itself prints its secrets there
        start_new_session=True,
    )


def _output(process: subprocess.Popen[bytes], until: float) -> bytes:
    """Read until the command has ended or has printed too much; leave nothing of it running.

    Raises:
        subprocess.TimeoutExpired: it did not end in time.
    """
    assert process.stdout is not None
    with process.stdout as pipe:
        try:
            output = _read(process, pipe.fileno(), until)
            if len(output) <= BYTES_MAX:
                process.wait(max(0.0, until - monotonic()))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return output


def _read(process: subprocess.Popen[bytes], descriptor: int, until: float) -> bytes:
    output = b""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    while len(output) <= BYTES_MAX:
        if not poll.poll(max(0.0, until - monotonic()) * 1000):
            raise subprocess.TimeoutExpired(process.args, 0)
        part = os.read(descriptor, BYTES_MAX)
        if not part:
            break
        output += part
    return output


def _password(program: str, code: int, output: bytes) -> str:
    """Return what was printed, if that is a password.

    Raises:
        NoPassword: it is none; the sentence repeats nothing of it.
    """
    if len(output) > BYTES_MAX:
        raise NoPassword(
            f"{program} printed more than {BYTES_MAX} bytes: print the password alone"
        )
    if code != 0:
        ended = f"exit code {code}" if code > 0 else f"signal {-code}"
        raise NoPassword(
            f"{program} ended with {ended}: run it by hand to see why, since what it prints is "
            "not logged"
        )
    try:
        text = output.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeError:
        raise NoPassword(f"{program} printed no UTF-8: print the password alone") from None
    if not text:
        raise NoPassword(f"{program} printed nothing: print the password on one line")
    if "\n" in text or "\0" in text:
        lines = len(text.splitlines())
        raise NoPassword(f"{program} printed {lines} lines: print the password alone, on one")
    return text
