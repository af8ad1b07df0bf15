"""An application's rolling deploy: old and new workers side by side, and no job fails.

Both versions of the application come from ConfigMaps, so that only the pool rolls. Jobs come
all the while: of a kind that both have, of one that is new and of one that goes. The tests go
on with one release, in the order in which they stand here.
"""

import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import cast

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.cluster.conftest import VALUES as TRIAL
from tests.support import cluster
from tests.support.chart import Json, Object, at
from tests.support.cluster import RELEASE, Release
from tests.support.object_changes import is_ready
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

PODS = 3
AT_ONCE = 5
"""Jobs of each kind and tenant that come at a time."""

REST_SECONDS = 0.2
"""Between these times."""

KINDS = {"before": ("lasting", "former"), "after": ("lasting", "coming")}
"""What each version of the application has handlers for."""

APP = """
import asyncio

import fairlead

tasks = fairlead.Tasks()


async def work(job: fairlead.Job) -> str:
    await asyncio.sleep(0.1)
    return {version!r}


for kind in {kinds!r}:
    tasks.handler(kind)(work)
"""

COME = """
    INSERT INTO fairlead.jobs (queue, tenant, kind)
    SELECT 'default', tenant, kind
    FROM unnest(%s::text[]) kind, unnest('{a,b}'::text[]) tenant, generate_series(1, %s)
"""
OF_A_VERSION = """
    SELECT result #>> '{}', min(claimed_at), max(claimed_at)
    FROM fairlead.job_history WHERE id > %s GROUP BY 1
"""
NEWEST = "SELECT coalesce(max(id), 0) FROM fairlead.job_status"
ENDINGS = """
    SELECT kind, outcome, attempt, losses + crashes, count(*)
    FROM fairlead.job_history GROUP BY 1, 2, 3, 4
"""
LEFT = "SELECT kind, count(*) FROM fairlead.jobs GROUP BY 1"
SPENT = "SELECT count(*) FROM fairlead.jobs WHERE attempts > 0"
CUT_SHORT = "SELECT ended_as, error FROM fairlead.attempt_errors"
WAITS = """
    SELECT fairlead.explain(id) ->> 'blocked_by' FROM fairlead.jobs
    WHERE kind = %s AND run_at IS NOT NULL ORDER BY id LIMIT 1
"""


def values(version: str) -> Object:
    """Return values of a release whose workers run this version of the application."""
    pool: Object = {
        "app": "shop:tasks",
        "concurrency": 4,
        "autoscale": {"min": PODS, "max": PODS},
        "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
        "volumes": [{"name": "shop", "configMap": {"name": f"shop-{version}"}}],
        "volumeMounts": [{"name": "shop", "mountPath": "/app", "readOnly": True}],
    }
    applications: list[Json] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"shop-{each}"},
            "data": {"shop.py": APP.format(version=each, kinds=kinds)},
        }
        for each, kinds in KINDS.items()
    ]
    return {**TRIAL, "workerPools": {"default": pool}, "extraObjects": applications}


@pytest.fixture(scope="module", autouse=True)
def installed(release: Release) -> None:
    """Install the release that the tests go on with."""
    release.install(values("before"))


def version_of(pod: Object) -> str:
    """Return which version of the application a pod runs."""
    volumes = cast("list[Object]", at(pod, "spec", "volumes"))
    names = [str(at(each, "configMap", "name")) for each in volumes]
    return next(name.removeprefix("shop-") for name in names if name.startswith("shop-"))


def deploy(
    release: Release, db: Connection[TupleRow], to: str, begin: Callable[[], object]
) -> None:
    """Deploy a version, one pod after the other, while jobs of all kinds come.

    Both versions have run jobs of what came meanwhile, the old one after the new one began.
    """
    (newest,) = db.execute(NEWEST).fetchone() or (0,)
    with coming(db):
        begin()
        until(
            lambda: is_over(release, to), what=f"the end of the deploy of {to!r}", seconds=200
        )
    (gone,) = set(KINDS) - {to}
    began = {name: (first, last) for name, first, last in db.execute(OF_A_VERSION, [newest])}
    assert began[to][0] < began[gone][1]


def is_over(release: Release, version: str) -> bool:
    """Tell whether the pool has no pod but ready ones of a version."""
    pods = release.pods("worker")
    return [version] * PODS == [version_of(each) for each in pods] and all(map(is_ready, pods))


@contextmanager
def coming(db: Connection[TupleRow]) -> Generator[None]:
    """Insert jobs of all kinds for two tenants, again and again until the block ends."""
    over = threading.Event()

    def come() -> None:
        while not over.wait(REST_SECONDS):
            db.execute(COME, [["lasting", "coming", "former"], AT_ONCE])

    with ThreadPoolExecutor(1) as pool:
        inserting = pool.submit(come)
        try:
            yield
        finally:
            over.set()
            inserting.result()


def await_left(db: Connection[TupleRow], kinds: Iterable[str], *, seconds: float) -> None:
    """Wait until no jobs are left but those of these kinds, of which there are some."""
    until(
        lambda: {*kinds} == {kind for kind, _ in db.execute(LEFT)},
        what=f"the end of all jobs but of {kinds or 'none'}",
        seconds=seconds,
    )


def await_said(db: Connection[TupleRow], kind: str) -> None:
    """Wait until the fleet says why jobs of this kind wait."""
    until(
        lambda: ("no handler",) == db.execute(WAITS, [kind]).fetchone(),
        what=f"an explanation of why jobs of kind {kind} wait",
        seconds=60,
    )


def whole(db: Connection[TupleRow]) -> bool:
    """Return whether every job so far has succeeded or waits, none with an attempt too many."""
    endings = db.execute(ENDINGS).fetchall()
    good = {(outcome, attempt, deaths) for _, outcome, attempt, deaths, _ in endings}
    assert {("succeeded", 1, 0)} == good, endings
    assert [] == db.execute(CUT_SHORT).fetchall()
    return (0,) == db.execute(SPENT).fetchone()


def test_a_rolling_deploy_fails_no_job(release: Release, db: Connection[TupleRow]) -> None:
    """The new kind runs; the one that is gone waits, says so, and uses no attempt."""
    deploy(release, db, "after", lambda: release.upgrade(values("after")))

    await_left(db, ["former"], seconds=120)
    await_said(db, "former")
    assert whole(db)


def test_a_rollback_runs_what_waited_and_keeps_what_is_new(
    release: Release, db: Connection[TupleRow]
) -> None:
    """The old version does what only it can, and jobs of the new kind wait for the next."""
    deploy(release, db, "before", lambda: release.helm("rollback", RELEASE, "1"))

    await_left(db, ["coming"], seconds=180)
    await_said(db, "coming")
    assert whole(db)


def test_the_next_deploy_runs_the_rest(release: Release, db: Connection[TupleRow]) -> None:
    """Nothing but jobs of the kind that is gone is left, after three deploys."""
    deploy(release, db, "after", lambda: release.upgrade(values("after")))

    await_left(db, ["former"], seconds=180)
    assert whole(db)
