"""Settings that contradict each other are refused in one sentence, and flags win."""

import pytest
from pydantic import ValidationError

from fairlead.settings import explain
from fairlead_scheduler.program import main, read_settings
from fairlead_scheduler.settings import SchedulerSettings


def refusal(**given: object) -> str:
    """Return the sentence with which these settings are refused."""
    with pytest.raises(ValidationError) as refused:
        SchedulerSettings.model_validate(given)
    return explain(refused.value)


def test_the_defaults_fit_together() -> None:
    """Nothing has to be set but where the database is."""
    assert SchedulerSettings().lease_seconds > 2 * SchedulerSettings().renew_seconds


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"renew_seconds": 2}, "renew_seconds (2) and margin_seconds (0.5) together"),
        ({"tick_seconds": 0.5}, "tick_seconds (0.5) must not be above idle_seconds (0.1)"),
        (
            {"timeout_default_seconds": 7200},
            "timeout_default_seconds (7200) must not be above timeout_max_seconds (3600)",
        ),
        ({"lease_seconds": "soon"}, "FAIRLEAD_LEASE_SECONDS"),
        ({"log_level": "loud"}, "FAIRLEAD_LOG_LEVEL"),
    ],
)
def test_a_contradiction_is_named_with_both_values(
    given: dict[str, object], sentence: str
) -> None:
    """The sentence names the fields, the values and what must hold."""
    assert sentence in refusal(**given)


def test_flags_win_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said on the command line is meant for this process."""
    monkeypatch.setenv("FAIRLEAD_POOL", "big")
    monkeypatch.setenv("FAIRLEAD_LEASE_SECONDS", "5")

    settings = read_settings(["--pool", "small"])

    assert ("small", 5.0) == (settings.pool, settings.lease_seconds)


@pytest.mark.parametrize(
    ("arguments", "environment", "sentence"),
    [
        (["--health-port", "http"], {}, "FAIRLEAD_HEALTH_PORT"),
        (["--speed", "10"], {}, "unrecognized arguments: --speed 10"),
        ([], {"FAIRLEAD_LEASE_SECONDS": "0"}, "FAIRLEAD_LEASE_SECONDS"),
    ],
)
def test_a_bad_setting_exits_with_2_and_one_sentence(
    arguments: list[str],
    environment: dict[str, str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A person sees what is wrong, and no traceback."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit) as left:
        main(arguments)

    said = capsys.readouterr().err
    assert 2 == left.value.code
    assert said.startswith("fairlead: ")
    assert sentence in said
    assert 1 == said.count("\n")


@pytest.mark.parametrize(
    "url", ["postgresql://u:x7q9kw@h/db", "postgresql://u:x7q%zz9kw@h/db", "password=x7q9kw"]
)
def test_a_password_on_the_command_line_is_refused_and_not_repeated(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ps` shows arguments to every user of the machine; a file or a variable it does not."""
    with pytest.raises(SystemExit) as left:
        main(["--database-url", url])

    said = capsys.readouterr().err
    assert (2, 1) == (left.value.code, said.count("\n"))
    assert said.startswith("fairlead: ")
    assert "x7q" not in said


def test_a_url_without_a_password_may_be_a_flag() -> None:
    """It discloses no more than the process list of the server does."""
    assert (
        "postgresql://u@h/db"
        == read_settings(["--database-url", "postgresql://u@h/db"]).database_url
    )


def test_help_names_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    """Every flag is explained where people look."""
    with pytest.raises(SystemExit) as left:
        main(["--help"])

    assert (0, True) == (left.value.code, "--database-url" in capsys.readouterr().out)
