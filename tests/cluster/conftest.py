"""What tests on a real cluster may ask for: a release that is installed, and its database."""

import re
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import cluster
from tests.support.chart import Object
from tests.support.cluster import NAMED, Release
from tests.support.sightings import Record, recorded

_DATABASE_POD = f"{NAMED}-trial-database-0"
_FORWARDED = re.compile(r"127\.0\.0\.1:(\d+)")

# `brief` cuts short what runs for longer than two seconds after its pod was told to go.
VALUES: Object = {
    **cluster.values(
        {
            "default": {
                "concurrency": 4,
                "autoscale": {
                    "objective": "30s",
                    "min": 0,
                    "max": 6,
                    "stabilization": "10s",
                    "keep": "10s",
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
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failed test what its release says."""
    report = yield
    release = getattr(item, "funcargs", {}).get("release")
    if report.failed and isinstance(release, Release):
        report.sections.append(("the release", release.told()))
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
def db(release: Release) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to the release's trial database, as its superuser."""
    words = ("psql", "-h/tmp", "-Upostgres", "-dfairlead", "-c")
    release.kubectl("exec", _DATABASE_POD, "--", *words, "ALTER ROLE postgres PASSWORD 'trial'")
    with (
        forwarded(release, _DATABASE_POD, 5432) as port,
        psycopg.connect(
            f"postgresql://postgres:trial@127.0.0.1:{port}/fairlead", autocommit=True
        ) as connection,
    ):
        yield connection


@contextmanager
def forwarded(release: Release, pod: str, port: int) -> Generator[int]:
    """Yield the port of this machine behind which a pod's is."""
    words = [
        "/usr/bin/env",
        f"KUBECONFIG={cluster.KUBECONFIG}",
        "kubectl",
        f"--namespace={release.namespace}",
        "port-forward",
        pod,
        f":{port}",
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            match = _FORWARDED.search(said)
            assert match is not None, f"kubectl port-forward said {said!r}"
            yield int(match[1])
        finally:
            process.kill()


@pytest.fixture(scope="session")
def figures(request: pytest.FixtureRequest) -> dict[str, float]:
    """Return a place for measured seconds, which are told at the end of the run."""
    found: dict[str, float] = {}
    request.config.stash[_FIGURES] = found
    return found


_FIGURES = pytest.StashKey[dict[str, float]]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Tell what was measured."""
    found = config.stash.get(_FIGURES, None) or {}
    if found:
        terminalreporter.section("measured on the cluster, in seconds")
    for name, seconds in found.items():
        terminalreporter.write_line(f"{seconds:8.3f}  {name}")
