"""The running fleet: leader, leases, pools and queues. Pure."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from fairlead.inspection import formats
from fairlead.inspection.doctor.facts import (
    CrashBreaker,
    Facts,
    Lead,
    Queued,
    Unhandled,
    Worker,
)
from fairlead.inspection.doctor.finding import Finding, Step, either, shell, sql
from fairlead.policy import Policy

LAPSED = timedelta(seconds=10)
"""The leader takes back within two seconds what a lapsed lease holds."""
QUEUED = timedelta(seconds=30)
"""So long a pool that may go to zero has for its first worker."""
_NAMED_MAX = 5
_COMPONENT = "app.kubernetes.io/component"


def lead(found: Lead | None) -> Iterator[Finding]:
    """Find that no scheduler leads, or that no program ever could."""
    if found is None:
        return
    if found.faults:
        yield Finding(
            harm="stops",
            subject="lead",
            what=f"The table of leaders has a row that nobody can acquire: {found.faults[0]}.",
            means="No scheduler dispatches, or no autoscaler scales, however long it waits.",
            fix=(sql("select fairlead.reset_leadership()"),),
        )
        return
    if found.held:
        return
    if found.lapsed is not None:
        since = f"has for {formats.age(found.lapsed)}"
    elif found.holder:
        since = f"has since {formats.printable(found.holder)} gave the lead up"
    else:
        since = "ever has"
    yield Finding(
        harm="stops",
        subject="lead",
        what=f"No scheduler leads: none {since}.",
        means="Nothing is dispatched, nothing falls due, and what lost workers held stays with "
        "them.",
        fix=(
            either(
                "fairlead scheduler",
                f"kubectl describe pods --show-events -l {_COMPONENT}=scheduler",
            ),
        ),
    )


def leases(workers: Sequence[Worker]) -> Iterator[Finding]:
    """Find workers whose leases have expired and that the leader has not declared dead."""
    for worker in workers:
        if worker.lapsed > LAPSED:
            name = formats.printable(worker.name or str(worker.id))
            yield Finding(
                harm="stops" if worker.jobs else "wastes",
                subject="lease",
                what=f"The lease of worker {name} (id {worker.id}, pool "
                f"{formats.printable(worker.pool)}) lapsed {formats.age(worker.lapsed)} ago, "
                f"and it holds {formats.jobs(worker.jobs)}.",
                means="What it holds runs nowhere else until the leader takes it back, which "
                "it does within seconds where there is one.",
                fix=(shell(f"fairlead workers release {worker.id}"),),
            )


def unhandled(found: Sequence[Unhandled]) -> Iterator[Finding]:
    """Find kinds for which no worker has a handler."""
    for each in found:
        waits = "waits" if each.jobs == 1 else "wait"
        yield Finding(
            harm="stops",
            subject="kind",
            what=f"{formats.jobs(each.jobs)} of kind {formats.printable(_word(each.kind))} "
            f"{waits} for a worker with a handler for it, and their pool has none.",
            means="They run once such a worker is there, at most two and a half minutes later; "
            "no attempt is used meanwhile.",
            fix=(
                shell(
                    f"fairlead jobs list --kind {_word(each.kind)} --state scheduled  "
                    "# deploy a worker that has it"
                ),
                shell(f"fairlead jobs cancel --kind {_word(each.kind)}  # or give them up"),
            ),
        )


def crash_breakers(found: Sequence[CrashBreaker]) -> Iterator[Finding]:
    """Find kinds of a tenant that run alone because they keep ending processes."""
    for each in found:
        workers = "1 worker" if each.workers == 1 else f"{each.workers} workers"
        yield Finding(
            harm="slows",
            subject="crashes",
            what=f"Jobs of kind {formats.printable(each.kind)} of tenant "
            f"{formats.printable(_word(each.tenant))} run one at a time on {workers}: several "
            "have ended the process that ran them.",
            means="They start late, for the others are put off meanwhile; other tenants and "
            "kinds are not touched. It ends when one of them has left its process alive.",
            fix=(
                shell(
                    f"fairlead jobs list --kind {_word(each.kind)} "
                    f"--tenant {_word(each.tenant)}  # fairlead jobs show ID: their errors"
                ),
            ),
        )


def pools(facts: Facts) -> Iterator[Finding]:
    """Find queues that no pool serves, pools without workers, and workers without queues."""
    policy = facts.policy
    has_pools = policy is not None and bool(policy.pools)
    if policy is not None and has_pools and facts.queues is not None:
        yield from _misrouted(facts.queues, policy)
    if facts.workers is None:
        return
    live = {each.pool for each in facts.workers if each.lapsed <= timedelta()}
    if facts.queued is not None:
        yield from _deserted(facts, facts.queued, live)
    if policy is not None and has_pools:
        yield from _idle(facts.workers, policy)


def _misrouted(queues: Sequence[str], policy: Policy) -> Iterator[Finding]:
    lost = [queue for queue in queues if policy.pool_of(queue) is None]
    if lost:
        first = lost[0].replace("\\", "\\\\").replace('"', '\\"')
        yield Finding(
            harm="stops",
            subject="queue",
            what=f"No pool of the policy serves {_some('queue', lost)}: jobs that are due wait "
            "there.",
            means="They are not dispatched until a pool names their queue.",
            fix=(
                Step("policy", f'add "{first}" to `queues` of one of `pools`'),
                shell("fairlead policy apply policy.yaml"),
            ),
        )


def _deserted(facts: Facts, queued: Sequence[Queued], live: set[str]) -> Iterator[Finding]:
    """Find pools with jobs and no worker; one that may go to zero has a moment to start one."""
    policy = facts.policy or Policy()
    waiting = {each.pool: each for each in queued}
    serving = [policy.pool_of(queue) for queue in facts.queues or ()]
    due = {pool.name for pool in serving if pool is not None}
    to_zero = {each.name for each in policy.pools if each.autoscale and each.autoscale.min == 0}
    for pool in sorted({*waiting, *due} - live):
        found = waiting.get(pool)
        if pool in to_zero and (found is None or found.age < QUEUED):
            continue
        has = "jobs that are due"
        if found is not None:
            since = formats.age(found.age)
            has = f"{formats.jobs(found.jobs)} queued for one, the oldest for {since}"
        yield Finding(
            harm="stops",
            subject="pool",
            what=f"Pool {formats.printable(pool)} has no worker, and {has}.",
            means="They wait until a worker of this pool starts.",
            fix=(
                either(
                    f"fairlead worker --pool {_word(pool)} --app MODULE:TASKS",
                    f"kubectl describe pods --show-events -l fairlead/pool={_word(pool)}",
                ),
            ),
        )


def _idle(workers: Sequence[Worker], policy: Policy) -> Iterator[Finding]:
    known = {pool.name for pool in policy.pools}
    idle: dict[str, int] = {}
    for worker in workers:
        if worker.pool not in known and worker.lapsed <= timedelta():
            idle[worker.pool] = idle.get(worker.pool, 0) + 1
    for pool, count in sorted(idle.items()):
        verb = "serves" if count == 1 else "serve"
        yield Finding(
            harm="wastes",
            subject="pool",
            what=f"{count} worker{'' if count == 1 else 's'} {verb} pool "
            f"{formats.printable(pool)}, which the policy does not name.",
            means="No queue belongs to that pool, so they never get a job.",
            fix=(
                Step("policy", f"name the pool {_word(pool)} among `pools`, with its queues"),
                shell("fairlead policy apply policy.yaml"),
            ),
        )


def _word(name: str) -> str:
    """Quote a name for a shell."""
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else "'" + name.replace("'", "'\\''") + "'"


def _some(what: str, names: Sequence[str]) -> str:
    """Name a few of many."""
    shown = ", ".join(formats.printable(name) for name in names[:_NAMED_MAX])
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{what}{'s' if len(names) > 1 else ''} {shown}{more}"
