"""A program that a test forks is as real as one that it starts anew."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import preforked, tree
from tests.support.programs import Process, Start, anew, forked
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")

TELLING = "tests.support.telling_program"
SECONDS = 60.0


class Told:
    """Programs that were started in one way, and what they said."""

    def __init__(self, start: Start, folder: Path) -> None:
        self._start, self._folder = start, folder
        self.log = folder / "log"
        self.processes: list[Process] = []

    def start(self, end: str) -> tuple[Process, dict[str, object]]:
        """Start a program that ends so, and wait for what it says."""
        told = self._folder / "told"
        environment = {"ONE": "1", "PYTHONPATH": tree.SOURCES, "LC_ALL": "C.UTF-8"}
        process = self._start(TELLING, [str(told), end], env=environment, log=self.log)
        self.processes.append(process)
        until(told.exists, what="a word of it", seconds=SECONDS)
        said = json.loads(told.read_text())
        told.unlink()
        return process, said


@pytest.fixture(autouse=True)
def _any_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this one forked too, though it is not loaded before."""
    monkeypatch.setattr(preforked, "PROGRAMS", (*preforked.PROGRAMS, TELLING))


@pytest.fixture(params=[anew, forked])
def programs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Told]:
    """Yield programs of each way to start them."""
    made = Told(request.param, tmp_path)
    yield made
    for each in made.processes:
        each.kill()
        each.wait(SECONDS)


def test_it_has_what_one_that_is_started_anew_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Session, files, arguments, environment, folder, threads, and what signals do."""
    monkeypatch.chdir(tmp_path)
    reading, writing = os.pipe()  # of the test's own: none of its connections is inherited
    told = [Told(each, tmp_path) for each in (anew, forked)]
    try:
        says = [each.start("return")[1] for each in told]
        assert [3, 3] == [each.processes[0].wait(SECONDS) for each in told]
    finally:
        os.close(reading)
        os.close(writing)

    assert says[0] == says[1]
    assert {"0": os.devnull, "1": str(tmp_path / "log"), "2": str(tmp_path / "log")} == (
        says[1]["files"]
    )
    assert says[1]["leads its session"]
    assert 1 == says[1]["tasks"]


@pytest.mark.parametrize(
    ("end", "code", "word"),
    [("return", 3, ""), ("exit", 1, "a word\n"), ("fail", 1, "ValueError: a fault\n")],
)
def test_its_code_is_what_its_main_ends_with(
    programs: Told, end: str, code: int, word: str
) -> None:
    """And what it says last is in its log."""
    process, _ = programs.start(end)

    assert code == process.wait(SECONDS)
    assert code == process.poll()
    assert programs.log.read_text().endswith(word)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_ends_it(programs: Told, number: signal.Signals) -> None:
    """Its code is the signal's, and it alone ends."""
    process, _ = programs.start("wait")
    other, _ = programs.start("wait")
    assert process.poll() is None

    process.send_signal(number)

    assert -number == process.wait(SECONDS)
    assert other.poll() is None
    process.kill()  # which does nothing
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    assert other.poll() is None


def test_a_signal_stops_it_and_lets_it_go_on(programs: Told) -> None:
    """As tests freeze a leader."""
    process, _ = programs.start("wait")

    process.send_signal(signal.SIGSTOP)
    until(lambda: state(process.pid) == "T", what="the stop")
    process.send_signal(signal.SIGCONT)
    until(lambda: state(process.pid) == "S", what="its wait")


def state(pid: int) -> str:
    """Return the letter of a process's state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.parametrize("start", [anew, forked])
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--concurrency", "none"], 2, "FAIRLEAD_CONCURRENCY"),
        (["--elsewhere"], 2, "--elsewhere"),
        (["--help"], 0, "--app"),
    ],
)
def test_a_worker_says_what_is_wrong_with_its_settings(
    start: Start, arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    """The process that reads them is forked as well."""
    environment = {"FAIRLEAD_DATABASE_URL": "postgresql:///none", "PYTHONPATH": tree.SOURCES}
    app = ["--app", "tests.chaos.app:tasks"]
    log = tmp_path / "log"
    process = start("fairlead_worker.main", [*app, *arguments], env=environment, log=log)

    assert code == process.wait(SECONDS)
    assert said in log.read_text()
