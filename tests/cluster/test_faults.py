"""A release over a PostgreSQL of this machine, and faults: no job is lost, no busy pod goes.

The tests go on with one release, in the order in which they stand here. Each fault lasts for
20 s; FAIRLEAD_TEST_FAULT_SECONDS says otherwise.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from time import monotonic
from typing import cast

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support import cluster, jobs, nodes, recovery
from tests.support.chart import Object, at
from tests.support.cluster import AUTOSCALER, NAMED, POOL, Release
from tests.support.leaders import (
    TAKEOVER_SECONDS,
    await_holder,
    await_leader,
    kill,
    processes,
)
from tests.support.object_changes import Record, is_ready, is_terminating, uid
from tests.support.outside import PASSWORD, place_of, reachable, urls, write_secret
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)
if not cluster.NODE_ADDRESS:
    pytest.skip("NODE_ADDRESS is empty: pods reach no PostgreSQL here", allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

FAULT_SECONDS = cluster.FAULT_SECONDS

WAITS = "password authentication failed"
WAITING = ("scheduler", "autoscaler", "worker", "migrate")
VALUES: Object = {
    **cluster.values(
        {
            "default": {
                "concurrency": 4,
                "queues": ["*"],
                "autoscale": {
                    "objective": "20s",
                    "min": 0,
                    "max": 4,
                    "stabilization": "5s",
                    "keep": "5s",
                },
            }
        }
    ),
    "database": {"existingSecret": "database"},
}

on_this_node = pytest.mark.skipif(
    not nodes.PIDS, reason="NODE_PIDS is empty: the node's processes are not in reach"
)


@pytest.fixture(scope="module")
def outside() -> Iterator[Server]:
    """Yield the server that the release works with."""
    with reachable() as running:
        yield running


@pytest.fixture
def db(outside: Server) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to the release's database, as its superuser."""
    with psycopg.connect(outside.url, autocommit=True) as connection:
        yield connection


def logs(release: Release, component: str) -> str:
    """Return what a component's pods have logged; nothing while none has started."""
    label = f"--selector=app.kubernetes.io/component={component}"
    try:
        return release.kubectl("logs", label, "--tail=-1")
    except cluster.CommandFailed:
        return ""


def restarts(pod: Object) -> int:
    """Return how often a pod's container was started again."""
    return cast("int", at(pod, "status", "containerStatuses", 0, "restartCount"))


def test_a_wrong_secret_is_waited_out_and_the_log_says_what_is_awaited(
    release: Release, outside: Server
) -> None:
    """A wrong database secret gives a waiting pod that says so, and that recovers."""
    write_secret(release, urls(place_of(outside), "wrong"))
    release.install(VALUES, waits=False)

    until(
        lambda: all(WAITS in logs(release, each) for each in WAITING),
        what="programs that say what they wait for",
        seconds=90,
    )
    assert not [each for each in release.pods("scheduler") if is_ready(each)]
    assert not [each for each in release.pods("worker") if is_ready(each)]

    write_secret(release, urls(place_of(outside), PASSWORD))
    # A change of the pod has its files written at once, and not within the kubelet's minute.
    release.kubectl("annotate", "pods", "--all", "fairlead-test/looked=again")
    release.await_rollout(f"{NAMED}-scheduler", AUTOSCALER, POOL)
    assert {0} == {restarts(each) for each in release.pods("scheduler")}


def test_a_leader_that_is_killed_is_followed_within_13_seconds(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """The autoscaler's leader is killed while load comes: another goes on."""
    load = jobs.inserted(db, 24, seconds=3)
    former = await_holder(release)

    killed = kill(release, former)

    await_holder(release, other_than=former)
    figures["leader killed: to another one"] = monotonic() - killed
    assert figures["leader killed: to another one"] <= TAKEOVER_SECONDS
    assert 24 == load.await_end().succeeded
    assert [] == record.terminated_while_ready()


@on_this_node
def test_a_leader_that_is_frozen_is_followed_and_writes_nothing_when_it_goes_on(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """A frozen leader's Lease lapses; it goes on as one that does not lead."""
    load = jobs.inserted(db, 24, seconds=3)
    former = await_leader(release)
    with nodes.frozen(processes(release, former)):
        stopped = monotonic()
        follower = await_leader(release, other_than=former)
        figures["leader frozen: to another one"] = monotonic() - stopped
        assert figures["leader frozen: to another one"] <= TAKEOVER_SECONDS

    until(
        lambda: '"lease.lost"' in release.kubectl("logs", former, "--tail=-1"),
        what="the former leader's own word that it leads no more",
        seconds=30,
    )
    assert follower == release.leader()
    assert 24 == load.await_end().succeeded
    assert [] == record.terminated_while_ready()


@on_this_node
def test_a_frozen_api_server_takes_no_pod_away(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """While the API server hangs jobs run on; when it answers, pods are added."""
    with recovery.undisturbed():
        await_empty(release)
        jobs.inserted(db, 4, seconds=1).await_end()
        asked = release.replicas()
        with nodes.frozen(nodes.of_component("kube-apiserver")):
            load = jobs.inserted(db, 64, seconds=FAULT_SECONDS / 4)
            held_for(db, FAULT_SECONDS)
            assert 0 < load.ended().succeeded < 64
        goes_on, since = monotonic(), datetime.now(UTC)
        recovery.await_renewed(release, since=since)
        figures["API server frozen: from its going on to a leader"] = monotonic() - goes_on
        until(lambda: release.replicas() > asked, what="more pods", seconds=60)
        figures["API server frozen: from its going on to more pods"] = monotonic() - goes_on

    ended = load.await_end(seconds=120 + FAULT_SECONDS)
    assert (64, 1) == (ended.succeeded, ended.attempts)
    assert {} == load.cut_short()
    assert [] == record.terminated_while_ready()


def test_a_stopped_database_takes_no_pod_away_and_no_job(
    release: Release, outside: Server, record: Record, figures: dict[str, float]
) -> None:
    """While PostgreSQL is away every pod stays; when it is back, work goes on."""
    await_empty(release)
    with psycopg.connect(outside.url, autocommit=True) as db:
        long = jobs.inserted(db, 6, seconds=FAULT_SECONDS)
        long.await_running(6)
        working = long.pods()
    stopped = monotonic()
    outside.stop()
    try:
        until(
            lambda: monotonic() - stopped >= FAULT_SECONDS,
            what="the length of the outage",
            seconds=FAULT_SECONDS + 5,
        )
        assert working <= {
            uid(each) for each in release.pods("worker") if not is_terminating(each)
        }
    finally:
        outside.start()
    answers = monotonic()
    asked = record.scales()

    with psycopg.connect(outside.url, autocommit=True) as db:
        jobs.inserted(db, 1, seconds=0).await_end()
        figures["PostgreSQL stopped: from its answer to a job's end"] = monotonic() - answers
        ended = jobs.Jobs(db, long.ids).await_end(seconds=120 + FAULT_SECONDS)
    assert 6 == ended.succeeded
    lowered = [
        now
        for (_, former), (when, now) in pairwise(asked)
        if now < former and stopped < when < answers
    ]
    assert [] == lowered
    assert [] == record.terminated_while_ready()


def test_a_pod_that_is_deleted_by_force_loses_no_job(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """A worker's pod is deleted by force: what ran in it runs again elsewhere."""
    load = jobs.inserted(db, 6, seconds=10)
    load.await_running(6)
    (pod,) = db.execute(BUSIEST).fetchone() or ("",)

    deleted = monotonic()
    release.kubectl("delete", "pod", str(pod), "--force", "--grace-period=0", "--wait=false")

    until(load.cut_short, what="the end of what ran in the pod", seconds=60)
    figures["pod deleted by force: to the end of its attempts"] = monotonic() - deleted
    assert 6 == load.await_end().succeeded
    assert [] == [each for each in record.terminated_while_ready() if each != pod]


@on_this_node
def test_a_frozen_kubelet_has_no_busy_pod_taken(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """While the kubelet hangs no pod reports that it has drained, so none is removed."""
    with recovery.undisturbed():
        await_empty(release)
        busy = jobs.inserted(db, 4, seconds=FAULT_SECONDS + 20)
        busy.await_running(4)
        load = jobs.inserted(db, 60, seconds=2)
        load.await_running(8)
        with nodes.frozen(nodes.of_component("kubelet")):
            held_for(db, FAULT_SECONDS)
            assert 4 == busy.running()
            working = busy.pods()
            here = {uid(each) for each in release.pods("worker")}
            terminated = record.before_termination()
            assert working <= here
            assert set() == working & {each.uid for each in terminated}
            assert set() == here & {each.uid for each in terminated if is_ready(each.object)}
            asked = release.replicas()
        goes_on = monotonic()
        until(lambda: release.replicas() < asked, what="fewer pods", seconds=120)
        figures["kubelet frozen: from its going on to a pod less"] = monotonic() - goes_on

    for each in (busy, load):
        ended = each.await_end()
        assert (len(each.ids), 1) == (ended.succeeded, ended.attempts)
        assert {} == each.cut_short()
    assert [] == record.terminated_while_ready()


def test_a_second_writer_is_reported_and_not_fought(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """Another writer of `/scale` is named, and what it wrote stays for a minute."""
    await_empty(release)
    jobs.inserted(db, 1, seconds=0).await_end()
    begun = monotonic()
    release.kubectl("scale", f"deployment/{POOL}", "--replicas=3")

    until(
        lambda: "ForeignWriter" in str(at(release.status(), "pools", "default")),
        what="the foreign writer in the status",
        seconds=30,
    )
    figures["second writer: to its name in the status"] = monotonic() - begun
    assert 80 == jobs.inserted(db, 80, seconds=3).await_end().succeeded
    counts = [count for when, count in record.scales() if when > begun]
    assert [3] == counts[counts.index(3) :]
    assert [] == record.terminated_while_ready()


BUSIEST = """
    SELECT pod_name FROM fairlead.workers WHERE state = 'live' ORDER BY running DESC LIMIT 1
"""


def held_for(db: Connection[TupleRow], seconds: float) -> None:
    """Let a fault last, by the database's clock."""
    db.execute("SELECT pg_sleep(%s)", [seconds])


def await_empty(release: Release) -> None:
    """Wait until the pool is to have no pod, so that what comes makes it grow from there."""
    until(lambda: release.replicas() == 0, what="an empty pool", seconds=150)
