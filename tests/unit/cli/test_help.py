"""What `--help` says of the commands."""

import pytest

from fairlead_cli.main import app, run


@pytest.mark.parametrize(
    "group",
    [
        (),
        ("autoscaler",),
        ("dev",),
        ("jobs",),
        ("policy",),
        ("roles",),
        ("schedules",),
        ("workers",),
    ],
)
def test_a_list_of_commands_says_of_each_a_whole_sentence(
    group: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 80 columns no command's line is cut short."""
    monkeypatch.setenv("COLUMNS", "80")

    code = run([*group, "--help"])

    listed = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    assert (0, []) == (code, [line for line in listed if not line.endswith(".")])
    assert [] == [line for line in listed if line.endswith("..")]


def test_whatever_answers_takes_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Programs that go on log instead, and a trace is JSON in any case."""
    without_json = {
        *(("console",), ("dev",), ("scheduler",), ("worker",)),
        ("trace", "export"),
    }
    commands: set[tuple[str, ...]] = {(str(each.name),) for each in app.registered_commands}
    for group in app.registered_groups:
        assert group.typer_instance is not None
        listed = group.typer_instance.registered_commands
        commands |= {(str(group.name), str(each.name)) for each in listed}

    without: set[tuple[str, ...]] = set()
    for command in commands - without_json:
        run([*command, "--help"])
        if "--json" not in capsys.readouterr().out:
            without.add(command)

    assert (set(), without_json) == (without, commands & without_json)
