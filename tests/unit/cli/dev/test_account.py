"""Where development keeps data of no project, and as whom, on machines that lack something."""

import os
import pwd
from pathlib import Path

import pytest

from fairlead_cli.dev import account
from fairlead_cli.dev.account import Account
from fairlead_cli.dev.binaries import PostgresError


def nobody_knows(_asked: object) -> pwd.struct_passwd:
    """Find no user, as on a machine that has none of this name or number."""
    raise KeyError


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user who is not root."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)


@pytest.mark.usefixtures("person")
def test_a_home_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the folder, and the variable that names another one."""
    (tmp_path / "home").write_text("a file")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    with pytest.raises(PostgresError, match=r"home/.local/state/fairlead .*XDG_STATE_HOME"):
        account.state_dir()

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert tmp_path / "state/fairlead" == account.state_dir()


@pytest.mark.usefixtures("person")
def test_without_a_home_the_sentence_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without an entry in /etc/passwd has none, where HOME is not set."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", nobody_knows)

    with pytest.raises(PostgresError, match="there is no home folder: set HOME"):
        account.state_dir()


def test_users_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root's server needs a user `nobody`; PostgreSQL makes no data for one without a name."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", nobody_knows)
    monkeypatch.setattr(pwd, "getpwuid", nobody_knows)

    with pytest.raises(PostgresError, match="this machine has no user nobody"):
        account.account()
    with pytest.raises(PostgresError, match="the user 54321 has no entry in /etc/passwd"):
        account.refuse_nameless(Account(54_321, 54_321))
