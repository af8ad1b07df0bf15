"""A release over a PostgreSQL of this machine, and faults: no job is lost, no busy pod goes.

The tests go on with one release, in the order in which they stand here. Each fault lasts for
20 s; FAIRLEAD_TEST_FAULT_SECONDS says otherwise.
"""

import secrets
from collections.abc import Iterator
from time import monotonic
from typing import cast

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from fairlead.dev.postgres import Server
from tests.support import cluster, jobs, nodes
from tests.support.chart import Object, at
from tests.support.cluster import NAMED, POOL, Release
from tests.support.databases import fast_folder, running_server
from tests.support.leaders import (
    TAKEOVER_SECONDS,
    await_holder,
    await_leader,
    kill,
    processes,
)
from tests.support.sightings import Record, is_ready, was_ready
from tests.support.waiting import until

if why := cluster.missing():
    pytest.skip(why, allow_module_level=True)
if not cluster.NODE_ADDRESS:
    pytest.skip("NODE_ADDRESS is empty: pods reach no PostgreSQL here", allow_module_level=True)

pytestmark = pytest.mark.timeout(cluster.TIMEOUT_SECONDS)

FAULT_SECONDS = cluster.FAULT_SECONDS

WAITS = "password authentication failed"
PASSWORD = secrets.token_hex(12)
PROGRAMS = ("scheduler", "worker", "autoscaler", "enqueue")
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
    """Yield a server that pods reach at this machine's address, with a login per program."""
    listening = {"listen_addresses": f"127.0.0.1,{cluster.NODE_ADDRESS}"}
    with running_server(listening, within=fast_folder()) as running:
        with (running.data_dir / "pg_hba.conf").open("a") as rules:
            rules.write("host all all all scram-sha-256\n")
        with psycopg.connect(running.url, autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
            for role in (*PROGRAMS, "admin"):
                group = sql.Identifier(f"fairlead_{role}")
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(group))
            for login in ("owner", *PROGRAMS):
                _make_login(connection, login)
            connection.execute("ALTER DATABASE fairlead OWNER TO app_owner")
        yield running


def _make_login(connection: Connection[TupleRow], login: str) -> None:
    group = "fairlead_scheduler" if login == "owner" else f"fairlead_{login}"
    connection.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
            sql.Identifier(f"app_{login}"), sql.Literal(PASSWORD), sql.Identifier(group)
        )
    )


def urls(outside: Server, password: str) -> dict[str, str]:
    """Return each program's URL as the Secret has it, with this password."""
    place = f"{cluster.NODE_ADDRESS}:{outside.port}/fairlead"
    return {
        login: f"postgresql://app_{login}:{password}@{place}" for login in ("owner", *PROGRAMS)
    }


def write_secret(release: Release, contents: dict[str, str]) -> None:
    """Make or change the Secret with the programs' URLs."""
    literals = [f"--from-literal={name}={url}" for name, url in contents.items()]
    made = release.kubectl(
        "create",
        "secret",
        "generic",
        "database",
        "--dry-run=client",
        "--output=yaml",
        *literals,
    )
    release.kubectl("apply", "--filename=-", given=made)


@pytest.fixture
def db(outside: Server) -> Iterator[Connection[TupleRow]]:
    """Yield a connection to the release's database, as its superuser."""
    with psycopg.connect(outside.url, autocommit=True) as connection:
        yield connection


def wrongly_gone(record: Record) -> list[str]:
    """Return the pods that were told to go while they were ready: none was empty."""
    return [
        each.name
        for each in record.told_to_go()
        if was_ready(record, each.uid) and is_ready(each.object)
    ]


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


def test_a_wrong_secret_is_waited_out_and_what_is_waited_for_is_said(
    release: Release, outside: Server
) -> None:
    """A wrong database secret gives a waiting pod that says so, and that recovers."""
    write_secret(release, urls(outside, "wrong"))
    release.install(VALUES, waits=False)

    until(
        lambda: WAITS in logs(release, "scheduler") and WAITS in logs(release, "autoscaler"),
        what="programs that say what they wait for",
        seconds=60,
    )
    assert not [each for each in release.pods("scheduler") if is_ready(each)]
    assert not [each for each in release.pods("worker") if is_ready(each)]

    write_secret(release, urls(outside, PASSWORD))
    # A change of the pod has its files written at once, and not within the kubelet's minute.
    release.kubectl("annotate", "pods", "--all", "fairlead-test/looked=again")
    for deployment in (f"{NAMED}-scheduler", f"{NAMED}-autoscaler", POOL):
        words = ("rollout", "status", f"deployment/{deployment}", "--timeout=120s")
        release.kubectl(*words, seconds=130)
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
    assert [] == wrongly_gone(record)


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
    assert [] == wrongly_gone(record)


@on_this_node
def test_a_frozen_api_server_takes_no_pod_away(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """While the API server hangs jobs run on; when it answers, pods are added at once."""
    with nodes.alone():
        jobs.inserted(db, 4, seconds=1).await_end()
        with nodes.frozen(nodes.of_component("kube-apiserver")):
            load = jobs.inserted(db, 40, seconds=3)
            held_for(db, FAULT_SECONDS)
            assert load.ended().succeeded > 0
        answers = monotonic()
        await_leader(release)
        figures["API server frozen: from its answer to a leader"] = monotonic() - answers

    assert (40, 1) == ((ended := load.await_end()).succeeded, ended.attempts)
    assert [] == wrongly_gone(record)


def test_a_stopped_database_takes_no_pod_away_and_no_job(
    release: Release, outside: Server, record: Record, figures: dict[str, float]
) -> None:
    """While PostgreSQL is away every pod stays; when it is back, work goes on."""
    with psycopg.connect(outside.url, autocommit=True) as db:
        long = jobs.inserted(db, 6, seconds=FAULT_SECONDS / 2)
        long.await_running(6)
        until(lambda: _is_settled(release), what="pods as many as asked for", seconds=60)
        asked = release.replicas()
    outside.stop()
    stopped = monotonic()
    try:
        until(
            lambda: monotonic() - stopped >= FAULT_SECONDS,
            what="the length of the outage",
            seconds=FAULT_SECONDS + 5,
        )
        assert asked == release.replicas()
    finally:
        outside.start()
    answers = monotonic()

    with psycopg.connect(outside.url, autocommit=True) as db:
        jobs.inserted(db, 1, seconds=0).await_end()
        figures["PostgreSQL stopped: from its answer to a job's end"] = monotonic() - answers
        assert 6 == jobs.Jobs(db, long.ids).await_end().succeeded
    assert [] == wrongly_gone(record)


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
    assert [] == [each for each in wrongly_gone(record) if each != pod]


@on_this_node
def test_a_frozen_kubelet_has_no_busy_pod_taken(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """While the kubelet hangs nobody reports drained, and so nobody is taken away."""
    with nodes.alone():
        load = jobs.inserted(db, 30, seconds=2)
        load.await_running(8)
        with nodes.frozen(nodes.of_component("kubelet")):
            held_for(db, FAULT_SECONDS)
            here = {str(at(each, "metadata", "uid")) for each in release.pods("worker")}
            told = {each.uid for each in record.told_to_go() if is_ready(each.object)}
            assert set() == here & told
        goes_on = monotonic()

    assert (30, 1) == ((ended := load.await_end()).succeeded, ended.attempts)
    until(
        lambda: release.replicas() == 0,
        what="an empty pool after the kubelet went on",
        seconds=120,
    )
    figures["kubelet frozen: from its going on to an empty pool"] = monotonic() - goes_on
    assert [] == wrongly_gone(record)


def test_a_second_writer_is_reported_and_not_fought(
    release: Release, db: Connection[TupleRow], record: Record, figures: dict[str, float]
) -> None:
    """Another writer of `/scale` is named, and what it wrote stays for a minute."""
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


BUSIEST = """
    SELECT pod_name FROM fairlead.workers WHERE state = 'live' ORDER BY running DESC LIMIT 1
"""


def held_for(db: Connection[TupleRow], seconds: float) -> None:
    """Let a fault last, by the database's clock."""
    db.execute("SELECT pg_sleep(%s)", [seconds])


def _is_settled(release: Release) -> bool:
    pods = release.pods("worker")
    return len(pods) == release.replicas() and all(is_ready(each) for each in pods)
