"""Where PostgreSQL's programs are looked for, and how a bad place is named."""

from pathlib import Path

import pytest

from fairlead_cli.dev.binaries import PostgresError, binaries, installed


def program(folder: Path, name: str, says: str) -> None:
    """Write a program that prints one line."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)


def test_a_chosen_folder_is_the_only_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAIRLEAD_POSTGRES_BIN wins over every other place."""
    program(tmp_path, "postgres", "postgres (PostgreSQL) 17.6 (Debian 17.6-1)")
    monkeypatch.setenv("FAIRLEAD_POSTGRES_BIN", str(tmp_path))

    assert ((17, tmp_path),) == installed()
    assert tmp_path == binaries()


def test_a_chosen_folder_without_a_server_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder without the program is an error that names the program's path."""
    monkeypatch.setenv("FAIRLEAD_POSTGRES_BIN", str(tmp_path))

    with pytest.raises(PostgresError, match=f"{tmp_path}/postgres does not run"):
        binaries()


def test_a_program_that_is_not_postgresql_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program of that name is an error that says what it said."""
    program(tmp_path, "postgres", "hello")
    monkeypatch.setenv("FAIRLEAD_POSTGRES_BIN", str(tmp_path))

    with pytest.raises(PostgresError, match="it says 'hello'"):
        binaries()


def test_a_version_before_15_is_not_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL 14 is refused where PostgreSQL 15 or newer is wanted."""
    program(tmp_path, "postgres", "postgres (PostgreSQL) 14.9")
    monkeypatch.setenv("FAIRLEAD_POSTGRES_BIN", str(tmp_path))

    with pytest.raises(PostgresError, match="no PostgreSQL 15 or newer"):
        binaries()
