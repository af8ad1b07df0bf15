"""What `--help` says of the commands."""

import pytest

from fairlead.cli.program import run


@pytest.mark.parametrize(
    "group", [(), ("autoscaler",), ("jobs",), ("policy",), ("schedules",), ("workers",)]
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
