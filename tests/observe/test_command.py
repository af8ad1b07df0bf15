"""`make observe`: it prints addresses, and one Ctrl-C, or its time limit, ends all of it."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

from fairlead_cli.dev import account, process_table
from tests.support import tree
from tests.support.observed import prometheus
from tests.support.observed.prometheus import PrometheusError
from tests.support.waiting import until

pytestmark = [
    pytest.mark.any_server,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("observe"),
]

_TIMEOUT_SECONDS = 200.0
"""For whatever is awaited, on a machine that has much else to do: only a failure takes it."""
_RULE = """
groups: [{name: own, rules: [{alert: Watched, expr: "sum(up) > 0"}]}]
"""
_FAKE_GRAFANA = """#!/bin/sh
echo "$0 $*" >"$TOLD"
ls "$GF_PATHS_PROVISIONING"/* >>"$TOLD"
exec sleep 1000
"""
_open = build_opener(ProxyHandler({})).open


@contextmanager
def observing(folder: Path, *words: str, **variables: str) -> Generator[subprocess.Popen[str]]:
    """Run the program behind `make observe`, with a rule of the test's own."""
    rules = folder / "rules.yaml"
    rules.write_text(_RULE)
    program = [sys.executable, "-m", "tests.support.observed", "--rules", str(rules)]
    with subprocess.Popen(
        [*program, *words],
        cwd=tree.ROOT,
        env={**os.environ, "PYTHONPATH": tree.SOURCES, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.kill()


@pytest.fixture
def needs_prometheus() -> None:
    """Skip the test where Prometheus is not."""
    try:
        prometheus.program()
    except PrometheusError as error:
        pytest.skip(str(error))


def lines_until(running: subprocess.Popen[str], last: str) -> list[str]:
    """Return its output up to the line that begins so."""
    assert running.stdout is not None
    said: list[str] = []
    for line in running.stdout:
        said.append(line.rstrip())
        if line.startswith(last):
            return said
    raise AssertionError(f"it ended: {said}")


def descendants(pid: int) -> set[int]:
    """Return every living process that stems from this one."""
    living = process_table.living().values()
    found = [pid]
    for parent in found:
        found += [each.pid for each in living if each.parent == parent]
    return {*found[1:]}


def press_ctrl_c(running: subprocess.Popen[str]) -> None:
    """Send to the whole group what a terminal sends to it."""
    with suppress(ProcessLookupError):  # it has just ended
        os.killpg(running.pid, signal.SIGINT)


def folders() -> set[Path]:
    """Return the folders of all that run or were left: only this file's tests make some."""
    return set(account.state_dir().glob("fairlead-observe-*"))


def silent(urls: Sequence[str]) -> list[str]:
    """Return those of the addresses that do not answer."""
    found: list[str] = []
    for url in urls:
        try:
            _open(url, timeout=10).close()
        except OSError:
            found.append(url)
    return found


@pytest.mark.usefixtures("needs_prometheus")
def test_it_prints_addresses_and_ctrl_c_ends_all_of_it(tmp_path: Path) -> None:
    """Each address that it prints answers; afterwards no process of it is left.

    Grafana, for which a program stands here, is given the data source and the dashboards.
    """
    program, told = tmp_path / "bin/grafana-server", tmp_path / "told"
    program.parent.mkdir()
    program.write_text(_FAKE_GRAFANA)
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"

    with observing(tmp_path, PATH=path, TOLD=str(told)) as running:
        said = "\n".join(lines_until(running, "Ctrl-C stops everything."))
        grafana = re.findall(
            r"^Grafana +(http://127\.0\.0\.1:\d+/)dashboards", said, re.MULTILINE
        )
        urls = re.findall(r"http://127\.0\.0\.1:\d+/\S+", said)
        served = [url for url in urls if not url.startswith(tuple(grafana))]
        assert (1, True) == (len(grafana), len(served) >= 5), said
        until(lambda: [] == silent(served), what="every page", seconds=_TIMEOUT_SECONDS)
        until(
            lambda: told.exists() and "dashboards" in told.read_text(),
            what="Grafana's start",
            seconds=_TIMEOUT_SECONDS,
        )
        family = descendants(running.pid)
        living = process_table.living()
        names = {living[pid].name for pid in family & living.keys()}
        assert {"prometheus", "postgres"} <= names

        press_ctrl_c(running)
        rest, errors = running.communicate(timeout=_TIMEOUT_SECONDS)

    assert (0, "stopped", "") == (running.returncode, rest.splitlines()[-1], errors)
    assert set() == family & process_table.living().keys()
    assert {"fairlead.yaml"} == set(re.findall(r"^fairlead\S+", told.read_text(), re.MULTILINE))


@pytest.mark.usefixtures("needs_prometheus")
@pytest.mark.long
def test_ctrl_c_while_it_starts_and_again_and_again_leaves_nothing(tmp_path: Path) -> None:
    """Pressing it until the prompt is back leaves no process, and no folder."""
    before = folders()
    with observing(tmp_path) as running:
        lines_until(running, "starting PostgreSQL")
        family = until(
            lambda: descendants(running.pid), what="its process", seconds=_TIMEOUT_SECONDS
        )
        while running.poll() is None:
            press_ctrl_c(running)
            family |= descendants(running.pid)
            with suppress(subprocess.TimeoutExpired):
                running.wait(timeout=0.2)
        said, errors = running.communicate()

    assert (["stopped"], "") == (said.splitlines()[-1:], errors)
    assert 0 == running.returncode
    assert set() == family & process_table.living().keys()
    assert before == folders()


@pytest.mark.usefixtures("needs_prometheus")
@pytest.mark.long
def test_it_ends_by_itself_after_its_time(tmp_path: Path) -> None:
    """And says that without Grafana the dashboards are to be imported."""
    with observing(tmp_path, "--seconds", "1", PATH=without("grafana")) as running:
        said, errors = running.communicate(timeout=_TIMEOUT_SECONDS)

    assert (0, "") == (running.returncode, errors)
    assert "It ends after 1 s." in said
    assert re.search(r"Grafana +is not on this machine: .* import .*/\*\.json", said)


def test_without_prometheus_it_says_how_to_get_it(tmp_path: Path) -> None:
    """One sentence, and exit code 2, before anything starts."""
    with observing(tmp_path, PATH="/nowhere") as running:
        said, errors = running.communicate(timeout=_TIMEOUT_SECONDS)

    assert (2, "") == (running.returncode, said)
    assert errors.startswith(
        "fairlead: prometheus is not on this machine: install it (Debian: "
    )
    assert 1 == len(errors.splitlines())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--rules", "/nowhere.yaml"), "/nowhere.yaml is not there"),
        (("--seconds", "soon"), "argument --seconds: invalid float value: 'soon'"),
        (("--dashboards", "/nowhere"), "/nowhere is not there"),
    ],
)
def test_a_wrong_argument_is_one_sentence(
    tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    """With exit code 2."""
    with observing(tmp_path, *words) as running:
        _, errors = running.communicate(timeout=_TIMEOUT_SECONDS)

    assert 2 == running.returncode
    assert errors.startswith(f"fairlead: {says}")
    assert 1 == len(errors.splitlines())


def without(name: str) -> str:
    """Return the search path without the folders that have a program of this name."""
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(each for each in folders if not [*Path(each).glob(f"{name}*")])
