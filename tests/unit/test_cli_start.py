"""What a command imports before it knows what it is to do."""

import subprocess
import sys

import pytest

SLOW = (
    "cel_expr_python",
    "fairlead.check",
    "fairlead.settings",
    "psycopg",
    "pydantic_settings",
    "rich.console",
)


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


def test_only_a_policy_with_rules_loads_the_package_that_reads_conditions() -> None:
    """It takes megabytes, which workers and most schedulers have no use for."""
    program = (
        "import sys, fairlead_scheduler.main, fairlead_worker.main\n"
        "from fairlead.policy import parse\n"
        "parse('queues: [{match: {queue: q}, weight: 2}]')\n"
        "print('cel_expr_python' in sys.modules)\n"
        "parse('rules: [{when: hour > 5, hold: true}]')\n"
        "print('cel_expr_python' in sys.modules)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ["False", "True"] == done.stdout.split()
