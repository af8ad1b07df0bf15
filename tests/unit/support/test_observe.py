"""The observed fleet's parts that need no process: its work, its targets, its settings."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fairlead.policy import find_warnings, parse
from fairlead_cli.dev import process_table
from tests.support.observed import grafana, prometheus, schedule, shop, targets
from tests.support.observed.load import quiet_jobs
from tests.support.observed.prometheus import PrometheusError
from tests.support.observed.targets import Target
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

OWNER = """
import os, signal, subprocess, sys
own = [sys.executable, "-m", "fairlead_cli.dev.bound_program", str(os.getpid())]
print(subprocess.Popen([*own, "/bin/sleep", "1000"]).pid, flush=True)
signal.pause()
"""
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a death")
def test_a_program_that_is_owned_dies_with_its_owner() -> None:
    """So that no Prometheus is left by one that was killed."""
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        until(
            lambda: process_table.living()[pid].name == "sleep", what="the program", seconds=20
        )

        owner.kill()

    until(lambda: not process_table.is_alive(pid), what="its end")


def test_the_policy_can_be_read_and_means_somebody() -> None:
    """As does one whose rest is chosen."""
    policy = parse(schedule.policy(1, 3))

    assert () == find_warnings(policy)
    (pool,) = policy.pools
    assert pool.autoscale is not None
    assert (1, 3, schedule.SLOTS) == (
        pool.autoscale.min,
        pool.autoscale.max,
        pool.autoscale.slots,
    )
    assert () == parse(schedule.policy(2, 2, "")).queues


def test_every_kind_that_is_inserted_has_a_handler() -> None:
    """Of every hundred steps, and of every tenant."""
    jobs = [job for step in range(100) for job in quiet_jobs(step, NOW)]

    assert {job.kind for job in jobs} <= {*shop.tasks.handlers}
    assert {*schedule.QUIET} == {job.tenant for job in jobs}
    assert {"hang", "crash", "report", "await"} <= {job.kind for job in jobs}
    assert any(job.expires_at for job in jobs)


def test_the_noisy_tenants_come_and_go() -> None:
    """They begin noisy."""
    assert schedule.is_high(0)
    assert not schedule.is_high(schedule.HIGH_SECONDS)
    assert schedule.is_high(schedule.HIGH_SECONDS + schedule.LOW_SECONDS)


def test_a_file_of_targets_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Prometheus sees a name, a container and a namespace, and no process id."""
    path = tmp_path / "some.json"
    written = (
        Target("scheduler-1", "scheduler", 15_001, 42),
        Target("w", "worker", 15_002, 43),
    )

    assert () == targets.read(path)
    targets.write(path, written)

    assert written == targets.read(path)
    labels = json.loads(path.read_text())[0]["labels"]
    assert {"namespace": "fairlead", "pod": "scheduler-1", "container": "scheduler"} == {
        name: value for name, value in labels.items() if not name.startswith("__")
    }
    assert [path] == [*tmp_path.iterdir()]


def test_prometheus_learns_where_and_how_often_to_look() -> None:
    """In milliseconds, so that half a second is no fraction."""
    said = json.loads(prometheus.settings(Path("/t"), [Path("/r.yaml")], every_seconds=0.5))

    assert {"500ms"} == {*said["global"].values()}
    assert ["/r.yaml"] == said["rule_files"]
    (scraped,) = said["scrape_configs"]
    assert ["/t/*.json"] == scraped["file_sd_configs"][0]["files"]


def test_a_machine_without_prometheus_learns_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Debian's package, or the search path."""
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(PrometheusError, match=r"apt-get install .* prometheus.*PATH"):
        prometheus.program()


def test_grafana_finds_prometheus_and_the_dashboards() -> None:
    """Its data source is the default one, which dashboards choose."""
    files = grafana.provisioning(Path("/boards"), "http://127.0.0.1:9090")

    (source,) = json.loads(files["datasources/fairlead.yaml"])["datasources"]
    assert ("http://127.0.0.1:9090", True) == (source["url"], source["isDefault"])
    (provider,) = json.loads(files["dashboards/fairlead.yaml"])["providers"]
    assert "/boards" == provider["options"]["path"]
    values = grafana.settings(Path("/g"), 15_003)
    assert ("127.0.0.1", "15003") == (
        values["GF_SERVER_HTTP_ADDR"],
        values["GF_SERVER_HTTP_PORT"],
    )
