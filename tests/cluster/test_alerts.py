"""Alerts that only a real cluster gives a cause for, each provoked and followed to it.

tests/chaos provokes all others. Every duration of the rules is a twenty-fifth of the real one.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import cast

import pytest
import yaml
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.cluster.conftest import VALUES as TRIAL
from tests.cluster.conftest import autoscale_of
from tests.support import cluster, jobs, nodes, recovery
from tests.support.alerting import CALM_SECONDS, alone, await_calm, await_fired
from tests.support.asking import Asking
from tests.support.chart import Object, at
from tests.support.cluster import NAMED, Release
from tests.support.object_changes import Record
from tests.support.observed import prometheus
from tests.support.observed.prometheus import PrometheusError
from tests.support.scraping import Called, scraped
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)
if not nodes.PIDS:
    pytest.skip(
        "NODE_PIDS is empty: the pods and the node's processes are not in reach",
        allow_module_level=True,
    )
try:
    prometheus.program()
except PrometheusError as error:
    pytest.skip(str(error), allow_module_level=True)

pytestmark = [pytest.mark.long, pytest.mark.timeout(cluster.TIMEOUT_SECONDS)]

WITHIN_SECONDS = 60.0
_APART: Object = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "labelSelector": {"matchLabels": {"fairlead/pool": "apart"}},
                "topologyKey": "kubernetes.io/hostname",
            }
        ]
    }
}
_QUICK: Object = {"objective": "20s", "min": 0, "stabilization": "2s", "keep": "2s"}
VALUES: Object = {
    **TRIAL,
    "workerPools": {
        "default": {"concurrency": 1, "autoscale": {**_QUICK, "max": 3}},
        "apart": {"concurrency": 1, "affinity": _APART, "autoscale": {**_QUICK, "max": 2}},
    },
}
POD_OF = """
    SELECT w.pod_name FROM fairlead.job_status s JOIN fairlead.workers w ON w.id = s.worker
    WHERE s.id = %s
"""


@pytest.fixture(scope="module", autouse=True)
def installed(release: Release) -> None:
    """Install the release that the tests go on with."""
    release.install(VALUES)


@pytest.fixture
def fleet(release: Release, record: Record, tmp_path: Path) -> Iterator[Asking]:
    """Yield a client of the release's Prometheus, once no alert fires."""
    with scraped(release, record, tmp_path) as asking:
        await_calm(asking)
        yield asking


def operator_url(release: Release) -> str:
    """Return the database's URL as pods have it, of a login that looks after the queue."""
    kept = at(release.got("secret", f"{NAMED}-trial-database"), "data", "admin")
    return base64.b64decode(str(kept)).decode()


def called(release: Release, known: dict[str, str], folder: Path) -> Called:
    """Return the responder to an alert with these labels."""
    folder = folder / "called"
    folder.mkdir()
    return Called(release, known, url=operator_url(release), folder=folder)


def set_floor(release: Release, pods: int) -> None:
    """Have the pool `apart` keep so many pods, by a live policy."""
    shown = release.got("configmap", f"{NAMED}-policy-values")
    policy = cast("Object", yaml.safe_load(str(at(shown, "data", "policy.yaml"))))
    autoscale_of(policy, "apart")["min"] = pods
    release.edit_policy(yaml.safe_dump(policy))


def test_pods_that_find_no_node_raise_an_alert(
    release: Release, fleet: Asking, figures: dict[str, float], tmp_path: Path
) -> None:
    """A pool whose pods may not share a node is to have more of them than there are nodes."""
    name = "FairleadPodsUnschedulable"
    with alone(fleet, name):
        begun = monotonic()
        set_floor(release, 2)
        known = await_fired(fleet, name, seconds=WITHIN_SECONDS)
        figures[f"{name}: from the edit to its firing"] = monotonic() - begun
        pending, described, _, explained = called(release, known, tmp_path).look(name)
        set_floor(release, 0)
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert {"POOL": "apart"} == known
    (stuck,) = [each.split()[0] for each in pending.splitlines() if " Pending " in each]
    assert f"Name:             {stuck}\n" in described
    assert "didn't match pod anti-affinity rules" in described
    assert "apart" in explained


def test_a_busy_pod_that_was_deleted_raises_an_alert(
    release: Release,
    db: Connection[TupleRow],
    fleet: Asking,
    figures: dict[str, float],
    tmp_path: Path,
) -> None:
    """An operator deletes a busy pod after another one is empty, and before that is deleted.

    What deletes the empty one stands still for that long, and finds as many pods as are asked
    for when it goes on.
    """
    name = "FairleadWrongVictim"
    with recovery.undisturbed(), alone(fleet, name):
        long = jobs.inserted(db, 2, seconds=60)
        jobs.inserted(db, 1, seconds=10)
        until(lambda: release.replicas() == 3, what="a pod for each job", seconds=30)
        release.await_rollout(cluster.POOL)
        with nodes.frozen(nodes.of_component("kube-controller-manager")):
            until(lambda: release.replicas() == 2, what="the empty pod's end", seconds=60)
            (victim,) = db.execute(POD_OF, [long.ids[0]]).fetchone() or ("",)
            begun = monotonic()
            release.kubectl("delete", "pod", str(victim), "--wait=false")
            known = await_fired(fleet, name, seconds=WITHIN_SECONDS)
            figures[f"{name}: from the deletion to its firing"] = monotonic() - begun
        events, explained, written = called(release, known, tmp_path).look(name)
        ended = long.await_end()
        fleet.wait_for_silence(name, CALM_SECONDS)

    assert {"POOL": "default"} == known
    assert f"pod/{victim} " in events
    assert "default" in explained
    assert "manager: fairlead-autoscaler" in written
    assert (2, 1) == (ended.succeeded, ended.attempts)
