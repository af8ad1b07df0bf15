"""What a command imports before it knows what it is to do."""

import subprocess
import sys

import pytest

SLOW = ("pydantic_settings", "rich.console", "fairlead.check", "fairlead.settings")


@pytest.mark.parametrize("words", [["--help"], ["jobs", "list", "--limit", "0"], ["version"]])
def test_what_is_slow_to_import_is_imported_when_it_is_needed(words: list[str]) -> None:
    """Help, a wrong argument and the version need no settings and no tables."""
    program = (
        "import sys\n"
        "from fairlead.cli.program import run\n"
        f"run({words!r})\n"
        f"print(*sorted(set({SLOW!r}) & set(sys.modules)), file=sys.stderr)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "" == done.stderr.splitlines()[-1]
