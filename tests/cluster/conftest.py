"""What tests on a real cluster may ask for: a release that is installed, and its database."""

import re
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import cast

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import cluster, nodes
from tests.support.chart import Object
from tests.support.cluster import NAMED, Release
from tests.support.object_changes import Record, recorded

_DATABASE_POD = f"{NAMED}-trial-database-0"
_LISTENS = re.compile(r"127\.0\.0\.1:(\d+)")

# `brief` ends what runs for longer than two seconds after its pod began to terminate.
VALUES: Object = {
    **cluster.values(
        {
            "default": {
                "concurrency": 4,
                "autoscale": {
                    "objective": "30s",
                    "min": 0,
                    "max": 6,
                    "stabilization": "5s",
                    "keep": "5s",
                },
            },
            "brief": {
                "concurrency": 1,
                "graceSeconds": 2,
                "cutShort": True,
                "autoscale": {"objective": "30s", "min": 1, "max": 1},
            },
        }
    ),
    "trialDatabase": {"enabled": True, "image": cluster.image(cluster.DATABASE_IMAGE)},
}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """Run no test while another process has the node's components stopped."""
    with nodes.shared():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failed test what its release says."""
    report = yield
    release = getattr(item, "funcargs", {}).get("release")
    if report.failed and isinstance(release, Release):
        report.sections.append(("the release", release.summary()))
    return report


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    """Yield a release with the trial database, which all of a module's tests go on with."""
    with cluster.empty_namespace() as ours:
        yield ours


@pytest.fixture
def record(release: Release) -> Iterator[Record]:
    """Yield what pods and Deployments go through while the test runs."""
    with recorded(release) as made:
        yield made


@pytest.fixture(scope="module")
def opened(release: Release) -> str:
    """Return the release's trial database's pod, once it lets the tests in."""
    words = ("psql", "-h/tmp", "-Upostgres", "-dfairlead", "-c")
    release.kubectl("exec", _DATABASE_POD, "--", *words, "ALTER ROLE postgres PASSWORD 'trial'")
    return _DATABASE_POD


@pytest.fixture
def db(release: Release, opened: str) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to the release's trial database, as its superuser."""
    with (
        forwarded(release, opened, 5432) as port,
        psycopg.connect(
            f"postgresql://postgres:trial@127.0.0.1:{port}/fairlead", autocommit=True
        ) as connection,
    ):
        yield connection


def autoscale_of(policy: Object, pool: str = "default") -> Object:
    """Return what a policy says of how a pool is scaled."""
    pools = cast("list[Object]", policy["pools"])
    return next(cast("Object", each["autoscale"]) for each in pools if each["name"] == pool)


@contextmanager
def forwarded(release: Release, pod: str, port: int) -> Generator[int]:
    """Yield the port of this machine behind which a pod's is."""
    with _listening(release, "port-forward", pod, f":{port}") as ours:
        yield ours


@contextmanager
def proxied(release: Release) -> Generator[int]:
    """Yield the port of this machine behind which the API server is, without a password."""
    with _listening(release, "proxy", "--port=0") as ours:
        yield ours


@contextmanager
def _listening(release: Release, *words: str) -> Generator[int]:
    command = [
        "/usr/bin/env",
        f"KUBECONFIG={cluster.KUBECONFIG}",
        "kubectl",
        f"--namespace={release.namespace}",
        *words,
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            match = _LISTENS.search(said)
            assert match is not None, f"kubectl {' '.join(words)} said {said!r}"
            yield int(match[1])
        finally:
            process.kill()


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Iterator[dict[str, float]]:
    """Yield a dict for measured seconds, which the end of the run prints."""
    found: dict[str, float] = {}
    yield found
    for name, seconds in found.items():
        record_property(name, seconds)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what every process has measured."""
    measured = [
        (name, seconds)
        for reports in terminalreporter.stats.values()
        for each in reports
        if isinstance(each, pytest.TestReport) and each.when == "teardown"
        for name, seconds in each.user_properties
        if isinstance(seconds, float)
    ]
    if measured:
        terminalreporter.section("measured on the cluster, in seconds")
    for name, seconds in measured:
        terminalreporter.write_line(f"{seconds:8.3f}  {name}")
