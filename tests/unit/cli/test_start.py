"""What a command imports before it knows what it is to do."""

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = (
    "cel_expr_python",
    "fairlead.inspection.doctor.setup",
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
        "from fairlead_cli.main import run\n"
        f"run({words!r})\n"
        f"print(*sorted(set({SLOW!r}) & set(sys.modules)), file=sys.stderr)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "" == done.stderr.splitlines()[-1]


@pytest.mark.parametrize("module", ["fairlead", "fairlead_cli"])
def test_the_command_is_a_module_too(module: str) -> None:
    """Where no script is on the path; it calls itself by its name."""
    done = subprocess.run(
        [sys.executable, "-m", module, "jobs", "zz"],
        capture_output=True,
        text=True,
        check=False,
    )

    said = "fairlead: No such command 'zz' (see `fairlead jobs --help`)\n"
    assert (2, said) == (done.returncode, done.stderr)


def test_services_load_neither_rich_nor_without_rules_what_reads_conditions() -> None:
    """They take megabytes, which workers and most schedulers have no use for."""
    program = (
        "import sys, fairlead_autoscaler.program, fairlead_scheduler.program\n"
        "import fairlead_worker.child.child_main, fairlead_worker.parent.supervisor\n"
        "print('rich' in sys.modules)\n"
        "from fairlead.policy import parse\n"
        "parse('queues: [{match: {queue: q}, weight: 2}]')\n"
        "print('cel_expr_python' in sys.modules)\n"
        "parse('rules: [{when: hour > 5, hold: true}]')\n"
        "print('cel_expr_python' in sys.modules)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ["False", "False", "True"] == done.stdout.split()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_an_output_that_cannot_be_written_is_one_sentence() -> None:
    """A disk may be full where the output goes."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "fairlead_cli", "version"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    said = "fairlead: the output cannot be written: No space left on device\n"
    assert (2, said) == (done.returncode, done.stderr)
