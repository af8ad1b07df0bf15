"""A large release for the controller: jobs and workers in PostgreSQL, pods in an API server.

No process runs the jobs and none makes pods: both stay as they are while the controller
observes them. The API server is the tests' own, which answers the controller like Kubernetes;
its pods are as large as real ones. A thread stands in for the scheduler and reports once a
second what each pool needs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import cast

from bench.server import Server
from fairlead import policy_storage
from fairlead.db.migrate import migrate
from fairlead.jsontext import Json
from tests.support.kubernetes import api, objects, scenes
from tests.support.kubernetes.objects import Object, part

DATABASE = "controller"
ASLEEP = "asleep"
"""A pool at zero: while there is one, each step reads which queues have jobs."""
SLOTS = 10
_TENANTS = 1000
_QUEUED = 2000
"""Unclaimed jobs in `work_queue`."""
_CHUNK = 100_000
_JOBS = b"""
insert into fairlead.jobs (queue, tenant, kind)
select 'queue-' || n %% %(pools)s, 'tenant-' || n %% %(tenants)s, 'bench'
from generate_series(%(first)s::bigint, %(last)s::bigint) n
"""
_WORKERS = b"""
insert into fairlead.worker_leases
    (name, pool, slots, slots_full, pod_uid, pod_name, lease_until)
select name, pool, %(slots)s, %(slots)s, uid, name, now() + interval '1 day'
from unnest(%(names)s::text[], %(pools)s::text[], %(uids)s::text[]) p (name, pool, uid)
"""
_RUNNING = b"""
insert into fairlead.work_queue (job_id, vtag, estimate_us, epoch, runnable_at, timeout, band,
    pool, queue, tenant, worker, token, claimed_at, deadline)
select j.id, j.id, 8000000, 1, now(), interval '1 hour', 0, w.pool, j.queue, j.tenant, w.id,
       nextval('fairlead.tokens'), now() - random() * interval '8 seconds',
       now() + interval '1 hour'
from (select id, pool, row_number() over (order by id) - 1 as place
      from fairlead.worker_leases) w
join (select id, queue, tenant, row_number() over (order by id) - 1 as place
      from fairlead.jobs order by id limit %(running)s) j on j.place / %(slots)s = w.place
"""
_UNCLAIMED = b"""
insert into fairlead.work_queue (job_id, vtag, estimate_us, epoch, runnable_at, timeout, band,
    pool, queue, tenant)
select id, id, 8000000, 1, now(), interval '1 hour', 0, replace(queue, 'queue', 'pool'), queue,
       tenant
from fairlead.jobs where id > (select max(job_id) from fairlead.work_queue)
order by id limit %(queued)s
"""
_DEMAND = b"""
insert into fairlead.pool_demand (pool, epoch, at, became_runnable_total, work_slot_seconds,
    slots_useful, slots_allowed, scheduled_slot_seconds, service_mean, service_variance,
    oldest_runnable_at)
select 'pool-' || n, 1, now(), 100000, 800000, 1000, 1000, '{0,0,0,0}', 8, 64,
       now() - interval '5 seconds'
from generate_series(0, %(pools)s - 1) n
"""
_RENEW_DEMAND = b"update fairlead.pool_demand set at = clock_timestamp()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large the release is."""

    jobs: int
    """Due jobs."""
    pods: int
    pools: int = 10

    @property
    def deployments(self) -> dict[str, str]:
        """The Deployment of each pool, including the one at zero."""
        pools = [*(f"pool-{number}" for number in range(self.pools)), ASLEEP]
        return {pool: f"release-worker-{pool}" for pool in pools}

    @property
    def per_pool(self) -> int:
        """Pods of a pool."""
        return self.pods // self.pools

    def policy(self, pods: int) -> str:
        """Return the policy that gives each pool this many pods, and one pool none."""
        scaled = "{objective: 30s, min: %d, max: %d, slots: %d, connectionsPerPod: 1}"
        pools = [
            f"  - {{name: pool-{number}, queues: [queue-{number}],"
            f" autoscale: {scaled % (pods, pods, SLOTS)}}}"
            for number in range(self.pools)
        ]
        last = f"  - {{name: {ASLEEP}, queues: ['*'], autoscale: {{objective: 30s, min: 0,"
        return "\n".join(("pools:", *pools, f"{last} pause: true}}}}"))


def install(server: Server, kube: api.Api, size: Size) -> str:
    """Create the release's objects, jobs, workers and pods; return the database's URL."""
    scenes.install(kube.client())
    for pool, name in size.deployments.items():
        pods = 0 if pool == ASLEEP else size.per_pool
        made = objects.deployment(name, pool, replicas=pods)
        made["status"] = {"observedGeneration": 1, "replicas": pods, "updatedReplicas": pods}
        kube.store.create(scenes.DEPLOYMENTS, made)
    uids = [(pool, *_pod(kube, pool, number)) for pool, number in _places(size)]
    url = server.create_database(DATABASE)
    with server.connect(DATABASE) as connection:
        migrate(connection)
        policy_storage.store(connection, size.policy(size.per_pool), author="bench")
        for first in range(0, size.jobs, _CHUNK):
            last = min(first + _CHUNK, size.jobs) - 1
            given = {"pools": size.pools, "tenants": _TENANTS, "first": first, "last": last}
            connection.execute(_JOBS, given)
        pools, names, pod_uids = zip(*uids, strict=True)
        workers = {"pools": [*pools], "names": [*names], "uids": [*pod_uids], "slots": SLOTS}
        connection.execute(_WORKERS, workers)
        connection.execute(_RUNNING, {"running": size.pods * SLOTS, "slots": SLOTS})
        connection.execute(_UNCLAIMED, {"queued": _QUEUED})
        connection.execute(_DEMAND, {"pools": size.pools})
        connection.execute(b"vacuum analyze")
    server.checkpoint()
    return url


@contextlib.contextmanager
def renewing_demand(server: Server) -> Generator[None]:
    """Renew the pools' demand once a second while inside, as the scheduler's leader does."""
    over = threading.Event()

    def renew() -> None:
        with server.connect(DATABASE) as connection:
            while not over.wait(1.0):
                connection.execute(_RENEW_DEMAND)

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def change(kube: api.Api, size: Size, turn: int, pods: int) -> None:
    """Change some pods, as the kubelet's reports do; each turn takes the next ones."""
    places = [*_places(size)]
    for offset in range(pods):
        pool, number = places[(turn * pods + offset) % len(places)]
        here = kube.store.get(scenes.PODS, _name(pool, number))
        part(here, "metadata", "annotations")["turn"] = str(turn)
        kube.store.put(scenes.PODS, _name(pool, number), here)


def _places(size: Size) -> Generator[tuple[str, int]]:
    for number in range(size.pods):
        yield f"pool-{number % size.pools}", number


def _name(pool: str, number: int) -> str:
    return f"release-worker-{pool}-{number:03}"


def _pod(kube: api.Api, pool: str, number: int) -> tuple[str, str]:
    """Create a ready pod; return its name and UID."""
    since = objects.now()
    made = objects.pod(_name(pool, number), pool)
    noise: Object = {f"f:{each}": {"f:x": {}} for each in range(150)}
    part(made, "metadata")["managedFields"] = [{"manager": "m", "fieldsV1": noise}]
    made["status"] = {
        "phase": "Running",
        "startTime": since,
        "conditions": cast("Json", objects.conditions(ready=True, since=since)),
    }
    there = kube.store.create(scenes.PODS, made)
    return _name(pool, number), str(part(there, "metadata")["uid"])
