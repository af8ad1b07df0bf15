"""A StatefulSet and one Job for each job: they grow, and no pod goes under a job."""

from time import monotonic
from typing import cast

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.cluster.conftest import VALUES as TRIAL
from tests.support import cluster, jobs
from tests.support.chart import Object, at
from tests.support.cluster import NAMED, Release
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

AT_ONCE = 8
"""Pods of the pool that runs one Job for each job."""

SCALED: Object = {
    "objective": "30s",
    "min": 0,
    "max": 4,
    "stabilization": "5s",
    "keep": "5s",
}
POOLS: Object = {
    "default": {"autoscale": {**SCALED, "max": 1}},
    "set": {"kind": "StatefulSet", "concurrency": 2, "autoscale": SCALED},
    # Jobs that have ended stay to be counted.
    "each": {
        "kind": "Job",
        "job": {"ttlSecondsAfterFinished": 3600},
        "autoscale": {**SCALED, "max": AT_ONCE},
    },
}
VALUES: Object = {
    **TRIAL,
    **cluster.values(POOLS),
}


@pytest.fixture(scope="module", autouse=True)
def installed(release: Release) -> None:
    """Install the release that the tests go on with."""
    release.install(VALUES)


def replicas(release: Release) -> int:
    """Return how many pods the StatefulSet is asked for."""
    found = release.got("statefulset", f"{NAMED}-worker-set")
    return cast("int", at(found, "spec", "replicas"))


def job_objects(release: Release) -> list[Object]:
    """Return the Jobs of the pool that runs one for each job."""
    return cast("list[Object]", release.got("jobs", "--selector=fairlead/pool=each")["items"])


def test_a_statefulset_grows_and_shrinks_without_an_attempt_lost(
    release: Release, db: Connection[TupleRow], figures: dict[str, float]
) -> None:
    """It takes pods for a backlog, each runs some of it, and all go when it is done."""
    begun = monotonic()
    load = jobs.inserted(db, 24, seconds=8, queue="set")
    until(lambda: len(load.pods()) > 1, what="a second pod at work", seconds=90)
    figures["a StatefulSet: from nothing to a second pod at work"] = monotonic() - begun
    assert replicas(release) > 1

    ended = load.await_end(seconds=240)
    idle = monotonic()
    until(lambda: replicas(release) == 0, what="no pod any more", seconds=120)
    figures["a StatefulSet: from the last job to an empty pool"] = monotonic() - idle

    assert (1, 0) == (ended.attempts, ended.losses)
    assert {} == load.cut_short()


def test_each_job_gets_a_pod_of_its_own(
    release: Release, db: Connection[TupleRow], figures: dict[str, float]
) -> None:
    """Which runs it once and ends; none is left."""
    figures["a Job for each of eight: to the end of the last"] = one_for_each(release, db, 8)


@pytest.mark.long
def test_a_hundred_jobs_get_a_pod_each(
    release: Release, db: Connection[TupleRow], figures: dict[str, float]
) -> None:
    """Eight at a time, each pod once, and none is left."""
    figures["a Job for each of a hundred: to the end of the last"] = one_for_each(
        release, db, 100
    )


def one_for_each(release: Release, db: Connection[TupleRow], count: int) -> float:
    """Run so many jobs, each in a Job's pod; return how many seconds that took."""
    before = len(job_objects(release))
    begun = monotonic()
    load = jobs.inserted(db, count, seconds=0.5, queue="each")

    ended = load.await_end(seconds=5 * count + 120)
    seconds = monotonic() - begun

    assert (1, 0) == (ended.attempts, ended.losses)
    until(
        lambda: not any(at(each, "status", "active") for each in job_objects(release)),
        what="the end of every Job",
        seconds=120,
    )
    made = job_objects(release)
    assert count <= len(made) - before <= count + max(AT_ONCE, count / 5)
    assert not any(at(each, "status", "failed") for each in made)
    return seconds


def test_an_image_that_cannot_be_pulled_is_said_in_one_sentence(
    release: Release, figures: dict[str, float]
) -> None:
    """By the status, while the pods of before go on.

    Nothing listens at the registry's address, which needs no name server: to find out that a
    name does not exist takes some networks over a minute.
    """
    broken: Object = {"image": {"repository": "127.0.0.1:9/app", "tag": "1"}}
    pool = cast("Object", POOLS["default"])
    pools: Object = {**POOLS, "default": {**pool, **broken, "autoscale": {"min": 1, "max": 1}}}
    begun = monotonic()
    release.upgrade({**VALUES, **cluster.values(pools)})

    said = until(
        lambda: at(release.status(), "pools", "default", "problem"),
        what="the problem in the status",
        seconds=60,
    )

    figures["an image that cannot be pulled: to the sentence"] = monotonic() - begun
    assert "127.0.0.1:9/app:1" in str(said)
