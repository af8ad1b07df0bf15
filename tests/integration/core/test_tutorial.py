"""The tutorial and the README, followed to the letter: their commands and files."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from time import monotonic

import pytest

from fairlead_cli.output import pod_counts
from tests.support import page_files, tree
from tests.support.dev import project
from tests.support.reader import Reader, blocks
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

TUTORIAL = tree.text(Path("docs/tutorial/first-queue.md"))
README = tree.text(Path("README.md"))
CHECKOUT = "path/to/the/checkout"
GREETED = '{"said": "hello, acme"}'
ENQUEUE = """
import os, psycopg
from myapp.jobs import *
with psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"]) as connection:
    {}
"""


@pytest.fixture
def reader() -> Iterator[Reader]:
    """Yield a reader in an empty folder."""
    with project() as folder:
        for made in folder.iterdir():
            made.unlink()
        yield Reader(folder)


def section(number: int, language: str = "") -> list[str]:
    """Return the blocks of a section of the tutorial."""
    return blocks(TUTORIAL, f"{number}. ", language)


def write_handler(reader: Reader) -> None:
    """Write the application of section 2."""
    (source,) = section(2, "python")
    reader.writes("myapp/__init__.py", "")
    reader.writes("myapp/jobs.py", source)


def succeeded(reader: Reader, line: str) -> str:
    """Type a line until it says that the job has ended well; return what it says then."""
    return until(
        lambda: said if "succeeded" in (said := reader.types(line)) else None,
        what=line,
        seconds=30,
    )


def test_the_readme_does_what_it_says(reader: Reader) -> None:
    """From the command line, in SQL and in Python."""
    reader.has_this_checkout()
    for name, source in page_files.files(README).items():
        reader.writes(name, source)
    *_, dev = blocks(README, "Use it")[0].splitlines()
    (insert,) = blocks(README, "Use it", "sql")
    (enqueue,) = re.findall(r"`(send_email\.using\(.*)`", README)

    with reader.leaves_running(dev):
        reader.types(blocks(README, "Use it")[1])
        reader.types(f"fairlead dev psql <<'END'\n{insert}END")
        reader.types(f"python -c '{ENQUEUE.format(enqueue)}'")
        for job in (1, 2, 3):
            said = succeeded(reader, f"fairlead jobs show {job}")
            assert '{"to": "a@example.com"}' in said
            assert re.search(r"^tenant +acme$", said, re.MULTILINE)


@pytest.mark.long
def test_the_tutorial_does_what_it_says(reader: Reader) -> None:
    """Sections 2 to 6."""
    reader.has_this_checkout()
    write_handler(reader)
    *_, show = section(4)[0].splitlines()
    (shell,) = re.findall(r"`(fairlead dev psql)`", TUTORIAL)
    with reader.leaves_running(section(3)[0].strip()):
        reader.types(section(4)[0])
        assert GREETED in succeeded(reader, show)
        said = reader.types(f"{shell} <<'END'\n{section(4, 'sql')[0]}END")
        assert "INSERT 0 1" in said
        assert GREETED in said
        reader.writes("order.py", section(4, "python")[0])
        reader.types(section(4)[1])
        assert GREETED in succeeded(reader, "fairlead jobs show 3")
        flooded(reader)
        unhandled(reader)


def flooded(reader: Reader) -> None:
    """Follow section 5: the quiet tenant's job does not wait for the flood."""
    reader.writes("flood.py", section(5, "python")[0])
    flood, listed, tenants = section(5)[0].splitlines()
    job = int(reader.types(flood))

    succeeded(reader, listed)

    shown = json.loads(reader.types(f"fairlead jobs show {job} --json"))
    could, claimed = (
        datetime.fromisoformat(shown[f"{at}_at"]) for at in ("runnable", "claimed")
    )
    assert (claimed - could).total_seconds() < 10  # the flood takes 50
    assert "flood" in reader.types(tenants)
    assert "flood" in reader.types("fairlead jobs list --tenant flood --state pending")


def unhandled(reader: Reader) -> None:
    """Follow section 6: who looks is told why a job waits."""
    enqueue, listed, doctor = section(6)[0].splitlines()
    job = int(reader.types(enqueue))
    until(
        lambda: "unhandled" in reader.types(f"fairlead jobs show {job}"),
        what="a job that nobody handles",
        seconds=30,
    )

    assert "no_such_thing" in reader.types(listed)
    assert "no_such_thing" in reader.types(doctor, code=1)
    assert "cancelled" in reader.types(f"fairlead jobs cancel {job}")


def why(reader: Reader) -> str:
    """Return what `fairlead top` says on a terminal of how many pods there are."""
    decided = json.loads(reader.types("fairlead top --json"))["pool_decisions"]
    instants = (
        {each: datetime.fromisoformat(row[each]) for each in ("at", "now")} for row in decided
    )
    return "\n".join(
        pod_counts.sentences([{**row, **at} for row, at in zip(decided, instants, strict=True)])
    )


@pytest.mark.long
def test_the_tutorials_fleet_scales_with_its_work(reader: Reader) -> None:
    """Section 7: this flood needs all six."""
    reader.has_this_checkout()
    write_handler(reader)
    reader.writes("flood.py", section(5, "python")[0])
    (shown,) = section(7, "text")

    with reader.leaves_running(section(7)[0].strip()):
        reader.types(section(7)[1].splitlines()[0])
        until(lambda: shown.strip() == why(reader), what=shown, seconds=60)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_first_job_from_an_empty_folder(
    reader: Reader, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sections 1 to 4, with a wheel that pip installs: nothing else is typed or looked up."""
    build = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
    ]
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(tree.ROOT)], check=True)
    (wheel,) = tmp_path.glob("fairlead-*.whl")
    reader.environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    (install,) = section(1)
    began = monotonic()

    reader.types(install.replace(CHECKOUT, str(wheel)))

    installed = monotonic()
    reader.folder /= "first-queue"
    write_handler(reader)
    path = f"{reader.folder}/.venv/bin:{reader.environment['PATH']}"  # what `activate` does
    reader.environment["PATH"] = path
    with reader.leaves_running(section(3)[0].strip()):
        reader.types(section(4)[0])
        assert GREETED in succeeded(reader, section(4)[0].splitlines()[-1])
        ended = monotonic()
    with capsys.disabled():
        print(  # noqa: T201 - what is measured
            f"\nthe first job ended {ended - began:.0f} s after the first command, "
            f"{installed - began:.0f} s of which pip took"
        )
