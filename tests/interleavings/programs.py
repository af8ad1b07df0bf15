"""The programs of sides: the product's own statements, whose steps are interleaved.

A program sends statements, is given their rows and says what they told. None ends a
transaction.
"""

import json
from collections.abc import Callable, Mapping, Sequence

from fairlead.db.statements import integers, load
from tests.interleavings.scene import Scene, Told
from tests.interleavings.stepping import Program, Row, Statement
from tests.support.race import Lease

Play = Callable[[Scene, Told], Program]

LOOP = "fairlead_scheduler.loop"
BACKGROUND = "fairlead_scheduler.background"
ATTEMPTS = "fairlead_worker.attempts"
PARENT = "fairlead_worker.parent"


def simple(
    statement: Statement | Callable[[Scene], Statement],
    tell: Callable[[Scene, Told, Sequence[Row]], None] = lambda _scene, _told, _rows: None,
) -> Play:
    """Return what sends one statement in a transaction of its own."""

    def play(scene: Scene, told: Told) -> Program:
        rows = yield statement(scene) if callable(statement) else statement
        tell(scene, told, rows)
        yield None

    return play


def then(*plays: Play) -> Play:
    """Return what does one thing after another."""

    def play(scene: Scene, told: Told) -> Program:
        for each in plays:
            yield from each(scene, told)

    return play


def together(*statements: Callable[[Scene], Statement]) -> Play:
    """Return what sends several statements in one transaction."""

    def play(scene: Scene, _told: Told) -> Program:
        for each in statements:
            yield each(scene)
        yield None

    return play


def sent(package: str, name: str, **values: object) -> Statement:
    """Return a statement of the product with its values."""
    return load(package, name), values


def pairs(leases: Sequence[Lease]) -> dict[str, object]:
    """Return attempts as statements name them."""
    return {
        "ids": integers(lease.job for lease in leases),
        "tokens": integers(lease.token for lease in leases),
    }


def dispatch(scene: Scene, *, epoch: int, text: bytes | None = None) -> Statement:
    """Return the dispatch of both jobs; of another text, if it is broken."""
    values: dict[str, object] = {
        "epoch": epoch,
        "floor": scene.floor,
        "pool": "default",
        "band": 0,
        "ids": integers(scene.jobs),
        "vtags": integers([scene.floor, scene.floor + 1]),
        "estimates_us": integers([1000, 1000]),
        "seen_us": integers([None, None]),
        "used": None,
        "kinds": None,
        "counted": None,
        "workers": None,
        "timeout_default": "10 min",
        "timeout_max": "1 h",
    }
    return text or load(LOOP, "dispatch"), values


def dispatching(*, later: int = 0, text: bytes | None = None) -> Play:
    """Return a dispatch by the leader of so many epochs later."""

    def play(scene: Scene, told: Told) -> Program:
        epoch = scene.epoch + later
        rows = yield dispatch(scene, epoch=epoch, text=text)
        told.dispatched += [row["job_id"] for row in rows]
        told.dispatches += 1
        told.epochs += [epoch for _ in rows[:1]]
        yield None

    return play


def claiming(worker: Callable[[Scene], int], *, below_floor: bool = False) -> Play:
    """Return a claim of all that there is."""

    def play(scene: Scene, told: Told) -> Program:
        rows = yield sent(
            ATTEMPTS,
            "claim",
            worker=worker(scene),
            limit=10,
            below_floor=below_floor,
            full_kinds=None,
        )
        told.leased += [Lease(row["job_id"], row["token"]) for row in rows]
        yield None

    return play


def finish(leases: Sequence[Lease]) -> Statement:
    """Return the ending of a batch of attempts that succeeded."""
    return sent(
        ATTEMPTS,
        "finish",
        **pairs(leases),
        outcomes=None,
        results=None,
        errors=None,
        run_us=integers([1000] * len(leases)),
    )


def _told_finished(leases: Sequence[Lease], told: Told, rows: Sequence[Row]) -> None:
    held = {row["token"] for row in rows}
    told.finished += [lease for lease in leases if lease.token in held]


def finishing(scene: Scene, told: Told) -> Program:
    """Finish what is held."""
    rows = yield finish(scene.leases)
    _told_finished(scene.leases, told, rows)
    yield None


def finishing_crossed(scene: Scene, told: Told) -> Program:
    """Finish each job under the other's token, which nobody may."""
    jobs = [lease.job for lease in scene.leases]
    tokens = [lease.token for lease in reversed(scene.leases)]
    leases = [Lease(*pair) for pair in zip(jobs, tokens, strict=True)]
    rows = yield finish(leases)
    _told_finished(leases, told, rows)
    yield None


def finishing_free(scene: Scene, told: Told) -> Program:
    """Finish what nobody has locked, as a worker does after it has waited too long."""
    rows = yield sent(ATTEMPTS, "finish_free", **pairs(scene.leases))
    free = {row["token"] for row in rows if row["free"]}
    leases = [lease for lease in scene.leases if lease.token in free]
    if leases:
        rows = yield finish(leases)
        _told_finished(leases, told, rows)
    yield None


def completing(scene: Scene, told: Told) -> Program:
    """Extend one's deadline and complete one's job in a handler's transaction."""
    for lease in scene.leases[:1]:
        pair = [lease.job, lease.token]
        yield b"SELECT fairlead.extend(%(job)s, %(token)s, '1 second')", _lease(pair)
        yield b"SELECT fairlead.complete(%(job)s, %(token)s)", _lease(pair)
        told.finished.append(lease)
    yield None


def checkpointing(scene: Scene, told: Told) -> Program:
    """Say from where one's job goes on, in a handler's transaction."""
    for lease in scene.leases[:1]:
        text = b"SELECT fairlead.checkpoint(%(job)s, %(token)s, '7')"
        yield text, _lease([lease.job, lease.token])
        told.checkpointed.append(lease)
    yield None


def storing_checkpoints(scene: Scene, told: Told) -> Program:
    """Say from where jobs go on, as a worker does for its handlers."""
    values = [str(lease.job) for lease in scene.leases]
    rows = yield sent(ATTEMPTS, "checkpoints", **pairs(scene.leases), values=values)
    stored = {row["token"] for row in rows if row["became"] == "stored"}
    told.checkpointed += [lease for lease in scene.leases if lease.token in stored]
    yield None


def failing(scene: Scene, _told: Told) -> Program:
    """Fail one attempt in a handler's transaction."""
    for lease in scene.leases[:1]:
        text = b"SELECT fairlead.fail(%(job)s, %(token)s, 'it broke', '1 hour')"
        yield text, _lease([lease.job, lease.token])
    yield None


def finishing_for_child(scene: Scene, told: Told) -> Program:
    """Finish what a dead child left, as its parent does."""
    run_us = integers([1000] * len(scene.leases))
    rows = yield sent(PARENT, "finish_free", **pairs(scene.leases), run_us=run_us)
    held = {row["token"] for row in rows if list(row.values())[1]}
    told.finished += [lease for lease in scene.leases if lease.token in held]
    yield None


def beginning_in_quarantine(scene: Scene, _told: Told) -> Program:
    """Give one attempt its whole time from now on."""
    for lease in scene.leases[:1]:
        yield sent(ATTEMPTS, "begin_in_quarantine", job_id=lease.job, token=lease.token)
    yield None


def deleting(scene: Scene, told: Told) -> Program:
    """Delete both jobs by hand, as an application may that has the right to."""
    text = b"DELETE FROM fairlead.jobs WHERE id = ANY (%(ids)s::bigint[]) RETURNING id"
    rows = yield text, {"ids": integers(scene.jobs)}
    told.deleted += [row["id"] for row in rows]
    yield None


def evicting(scene: Scene, told: Told) -> Program:
    """Ask what is held to make room."""
    names = ["default"] * len(scene.leases)
    named = {"epoch": scene.epoch, "queues": names, "tenants": names}
    rows = yield sent(BACKGROUND, "evict", **pairs(scene.leases), **named)
    told.epochs += [scene.epoch for _ in rows[:1]]
    yield None


def renewing(scene: Scene, _told: Told) -> Program:
    """Renew the lease of the worker that holds what is held."""
    yield sent(
        PARENT,
        "renew",
        worker=scene.worker,
        lease_seconds=15,
        slots=100,
        **pairs(scene.leases),
        beside=0,
        crash_breakers=None,
        evictable_kinds=None,
    )
    yield None


def _lease(pair: Sequence[int]) -> dict[str, object]:
    job, token = pair
    return {"job": job, "token": token}


def handing_back(ended_as: str, delay: str | None = None) -> Play:
    """Return the end of what is held, but not of its jobs."""
    return simple(
        lambda scene: sent(
            ATTEMPTS,
            "hand_back",
            **pairs(scene.leases),
            ended_as=[ended_as] * len(scene.leases),
            errors=None,
            delays=[delay] * len(scene.leases) if delay else None,
        )
    )


def leading(
    name: str,
    values: Mapping[str, object],
    *,
    ids: bool = False,
    package: str = BACKGROUND,
    tell: Callable[[Told, Sequence[Row]], list[int]] = lambda _told, _rows: [],
    text: bytes | None = None,
) -> Play:
    """Return a leader's statement; `tell` says which jobs it has changed.

    It has another text if it is broken.
    """

    def play(scene: Scene, told: Told) -> Program:
        named = {"ids": integers(scene.jobs)} if ids else {}
        asked = {"epoch": scene.epoch, **named, **values}
        rows = yield text or load(package, name), asked
        told.epochs += [scene.epoch for _ in tell(told, rows)[:1]]
        yield None

    return play


def promoted(told: Told, rows: Sequence[Row]) -> list[int]:
    """Note the jobs that were promoted, and return them."""
    jobs = [job for row in rows for job in row["ids"] or ()]
    told.promoted += jobs
    return jobs


def recalled(told: Told, rows: Sequence[Row]) -> list[int]:
    """Note the jobs that were recalled, and return them."""
    jobs = [row["r"] for row in rows]
    told.recalled += jobs
    return jobs


def renumbering(*, text: bytes | None = None) -> Play:
    """Return how a leader numbers tags anew; of another text, if it is broken."""
    values = {"large": 900, "ahead_max": 1000, "limit": 10}
    return leading("renumber", values, package=LOOP, tell=_renumbered, text=text)


def _renumbered(told: Told, rows: Sequence[Row]) -> list[int]:
    told.renumberings += len(rows)
    return [number for number, _ in enumerate(rows)]


def listed(_told: Told, rows: Sequence[Row]) -> list[int]:
    """Return a number for each row: each is something that was changed."""
    return [number for number, _ in enumerate(rows)]


def expired(_told: Told, rows: Sequence[Row]) -> list[int]:
    """Return how many jobs have ended, if any."""
    return [row["ended"] for row in rows if row["ended"]]


def _stolen(_told: Told, rows: Sequence[Row]) -> list[int]:
    return [job for row in rows for job in row["stolen"]]


def first(scene: Scene) -> dict[str, object]:
    """Name the first job."""
    return {"id": scene.jobs[0]}


def second(scene: Scene) -> dict[str, object]:
    """Name the second job."""
    return {"id": scene.jobs[1]}


def cli(
    name: str, values: Callable[[Scene], dict[str, object]]
) -> Callable[[Scene], Statement]:
    """Return a statement of the command line."""
    return lambda scene: (load("fairlead_cli", name), values(scene))


AFTER = {"from_us": 0, "limit": 10}
TURNS = {
    "from_us": 0,
    "after_queue": "",
    "after_tenant": "",
    "lanes": 10,
    "lane_jobs": 10,
    "limit": 10,
}
_STEAL = {"after": "(0,0)", "pages": 8192, "overdue_seconds": 30, "limit": 10}
_ACQUIRE = sent(
    "fairlead_scheduler.leadership", "acquire", holder="next", lease_seconds=60, release=""
)
_NEW = {"queue": "default", "tenant": "", "kind": "noop", "priority": 0, "max_attempts": 5}
INSERT = (
    load("fairlead", "enqueue"),
    (json.dumps([_NEW | {"dedup_key": "a"}, _NEW | {"dedup_key": "b"}]),),
)

REPLACING = {"replace": True}
DEBOUNCED = {"debounce": "1 hour"}
OF_A_PERIOD = {"unique_for": "1 hour"}


def enqueueing(*keys: str, how: Mapping[str, object]) -> Play:
    """Return what enqueues a job for each key, which replaces that of the key, say."""
    jobs = [{**_NEW, "dedup_key": key, **how} for key in keys]
    return simple((load("fairlead", "enqueue_unique"), (json.dumps(jobs),)))


stealing = leading("steal", _STEAL, tell=_stolen)
acquiring = simple(_ACQUIRE)
