"""`fairlead doctor` on a real server: what it found, and its fixes carried out as printed."""

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import psycopg
import pytest

from fairlead_cli.main import run

Found = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """What one call of the doctor reported."""

    code: int
    findings: tuple[Found, ...]
    unseen: tuple[Found, ...]

    def of(self, subject: str) -> tuple[Found, ...]:
        """Return the findings of a subject."""
        return tuple(each for each in self.findings if each["subject"] == subject)

    def one(self, subject: str) -> Found:
        """Return the only finding of a subject."""
        (found,) = self.of(subject)
        return found

    def unseen_things(self) -> set[str]:
        """Return what could not be seen."""
        return {str(each["what"]) for each in self.unseen}


@dataclass(frozen=True, slots=True)
class Examine:
    """Calls the doctor; a test may look from several logins."""

    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, url: str, *words: str) -> DoctorReport:
        """Return what the doctor says of a database."""
        self.monkeypatch.setenv("FAIRLEAD_DATABASE_URL", url)
        self.capsys.readouterr()
        code = run(["doctor", "--json", *words])
        said = self.capsys.readouterr()
        assert code in (0, 1), said
        assert "" == said.err
        # A scheduler in a thread of the test's logs to the same stream.
        report, _ = json.JSONDecoder().raw_decode(said.out, said.out.index("{\n"))
        return DoctorReport(code, tuple(report["findings"]), tuple(report["unseen"]))


def steps(found: Found) -> list[tuple[str, str]]:
    """Return where each step of a fix is done, and what it is."""
    listed = cast("list[dict[str, str]]", found["fix"])
    return [(each["where"], each["text"]) for each in listed]


def mend(
    url: str,
    found: Found,
    *,
    shell: Callable[[list[str]], None] | None = None,
    policy: Callable[[str], None] | None = None,
) -> None:
    """Carry out a finding's fix as it was printed.

    Args:
        url: The database, as its owner.
        found: The finding.
        shell: Runs a command's words; None: `fairlead` itself, which must succeed.
        policy: Makes the change that is asked for in words.
    """
    for where, text in steps(found):
        if where == "sql":
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(text.encode())
        elif where == "policy":
            assert policy is not None, text
            policy(text)
        else:
            (shell or _fairlead)(shlex.split(text, comments=True))


def _fairlead(words: list[str]) -> None:
    assert "fairlead" == words[0]
    assert 0 == run(words[1:])
