"""`--database-url`: any command takes it, wherever it stands."""

import os

import pytest

from tests.integration.conftest import Fairlead

NOWHERE = "postgresql://127.0.0.1:1/nowhere"


@pytest.mark.parametrize(
    "words",
    [
        ("--database-url", "URL", "jobs", "list"),
        ("jobs", "--database-url", "URL", "list"),
        ("jobs", "list", "--database-url", "URL"),
        ("jobs", "list", "--database-url=URL", "--limit", "1"),
        ("queues", "--database-url", NOWHERE, "--database-url", "URL"),
    ],
    ids=" ".join,
)
def test_a_command_takes_its_database_wherever_it_is_named(
    fairlead: Fairlead,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
) -> None:
    """It goes before the environment, whose setting is as it was afterwards."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", NOWHERE)
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL_FILE", "/nowhere")

    said = fairlead(*(word.replace("URL", database_url) for word in words))

    assert said.startswith("no ")
    assert [NOWHERE, "/nowhere"] == [
        os.environ[f"FAIRLEAD_DATABASE_URL{which}"] for which in ("", "_FILE")
    ]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("postgresql://ann:secret@db/app", "holds a password, and every user of this machine"),
        ("nonsense", "FAIRLEAD_DATABASE_URL: cannot be read as a connection URL"),
        (NOWHERE, "Connection refused"),
        ("", "--database-url has no value: give postgresql://HOST/DATABASE"),
    ],
)
def test_a_bad_database_is_one_sentence(fairlead: Fairlead, value: str, says: str) -> None:
    """It repeats no password."""
    said = fairlead("jobs", "list", "--database-url", value, code=2)

    assert says in said
    assert "secret" not in said
    assert 1 == said.count("\n")


def test_a_database_without_a_value_at_the_end_is_refused(fairlead: Fairlead) -> None:
    """Nothing else is taken for it."""
    assert "has no value" in fairlead("jobs", "list", "--database-url", code=2)


def test_what_stands_behind_two_dashes_is_the_commands_own(fairlead: Fairlead) -> None:
    """A kind may be called anything."""
    job = fairlead("enqueue", "--", "--database-url").strip()

    assert "--database-url" in fairlead("jobs", "show", job)
