"""A connection string that cannot be read is refused without a word of what stands in it."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from fairlead.db.connect import Unreachable, connect
from fairlead.db.conninfo import find_error, has_password
from fairlead.settings import DatabaseSettings, explain

HALVES = ("x7q", "9kw")
UNREADABLE = (
    "postgresql://u:x7q%zz9kw@127.0.0.1:1/db",
    "postgresql://u:x7q@9kw@127.0.0.1:1/db",
    "postgresql://u:x7q/9kw@127.0.0.1:1/db",
    "postgresql://u:12/9kw@127.0.0.1:1/db",
    "postgresql://u:x7q@9kw/9kw@127.0.0.1:1/db",
    "postgresql://u:9kw",
    "postgresql+psycopg://u:x7q9kw@127.0.0.1:1/db",
    "mysql://u:x7q9kw@127.0.0.1:1/db?x=y",
    "u:x7q9kw@127.0.0.1:1/db",
    "host=127.0.0.1 port=1 password=x7q 9kw",
    "postgresql://u:x7q\udcff9kw@127.0.0.1:1/db",
)


def refused(file: Path) -> str:
    """Return the sentence with which a connection is refused."""
    with pytest.raises(Unreachable) as refusal:
        connect(DatabaseSettings(database_url_file=file), name="test")
    return str(refusal.value)


@pytest.mark.parametrize("url", UNREADABLE)
def test_a_url_that_cannot_be_read_is_refused_without_its_password(url: str) -> None:
    """The sentence names the setting and how to write it, and repeats nothing of the value."""
    with pytest.raises(ValidationError) as refusal:
        DatabaseSettings(database_url=url)

    said = explain(refusal.value)
    assert said.startswith("FAIRLEAD_DATABASE_URL: ")
    assert "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in said
    assert not any(half in said + str(refusal.value) for half in HALVES)


def test_a_file_that_holds_such_a_url_is_named(tmp_path: Path) -> None:
    """The file's name is no secret; what it holds is."""
    file = tmp_path / "url"
    file.write_text(UNREADABLE[0])

    said = refused(file)

    assert said.startswith(f"FAIRLEAD_DATABASE_URL_FILE: {file} cannot be read")
    assert not any(half in said for half in HALVES)


def test_a_file_that_is_not_utf_8_is_one_sentence(tmp_path: Path) -> None:
    """Its bytes are not shown either."""
    file = tmp_path / "url"
    file.write_bytes(b"postgresql://u:x7q\xff9kw@127.0.0.1/db")

    assert f"FAIRLEAD_DATABASE_URL_FILE: {file} is not UTF-8" in refused(file)


@pytest.mark.parametrize(
    ("conninfo", "password"),
    [
        ("", False),
        ("postgresql://u:s%40%2F%25@h:5432/db", True),
        ("postgresql://u:s?cret@h/db", True),
        ("postgresql://u@[::1]:5432,h2:/db?user=a@b&application_name=c/d", False),
        ("host=h port='5432, 5433' password='a@b/c'", True),
        ("postgresql:///db?host=/run/postgresql&password=p", True),
    ],
)
def test_a_string_that_libpq_reads_as_it_was_meant_is_let_pass(
    conninfo: str, *, password: bool
) -> None:
    """Escapes, several hosts, sockets, keywords, and an @ where it belongs to a value."""
    assert (None, password) == (find_error(conninfo), has_password(conninfo))


def test_settings_do_not_show_the_url_where_they_are_printed() -> None:
    """Neither they nor the error of one that is refused are a way to the password."""
    url = "postgresql://u:x7q9kw@h/db"

    assert "x7q9kw" not in repr(DatabaseSettings(database_url=url))
    with pytest.raises(ValidationError, match="not both") as refusal:
        DatabaseSettings(database_url=url, database_url_file=Path("/x"))
    assert "x7q9kw" not in str(refusal.value)
