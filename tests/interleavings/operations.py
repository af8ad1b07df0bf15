"""The operations whose steps are interleaved: the product's own statements, as data.

Each is a program of a side, which sends statements, is given their rows and says what they
told. None ends a transaction.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairlead.db.statements import integers, load
from tests.interleavings.scene import Scene, Told
from tests.interleavings.stepping import Program, Row, Statement
from tests.support.race import Lease

Play = Callable[[Scene, Told], Program]

_LOOP = "fairlead_scheduler.loop"
_BACKGROUND = "fairlead_scheduler.background"
_ATTEMPTS = "fairlead_worker.attempts"
_PARENT = "fairlead_worker.parent"


@dataclass(frozen=True, slots=True)
class Operation:
    """What one side does.

    Args:
        name: in schedules that are printed.
        play: makes its program.
        alone: a leader has one thread for it, so that it never meets itself.
    """

    name: str
    play: Play
    alone: bool = False


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


def _sent(package: str, name: str, **values: object) -> Statement:
    return load(package, name), values


def _pairs(leases: Sequence[Lease]) -> dict[str, object]:
    return {
        "ids": integers(lease.job for lease in leases),
        "tokens": integers(lease.token for lease in leases),
    }


def dispatch(scene: Scene, *, epoch: int, text: bytes | None = None) -> Statement:
    """Return the dispatch of both jobs; of another text, if it is broken."""
    values: dict[str, object] = {
        "epoch": epoch,
        "floor": 1000,
        "pool": "default",
        "band": 0,
        "ids": integers(scene.jobs),
        "vtags": integers([1000, 1001]),
        "estimates_us": integers([1000, 1000]),
        "seen_us": integers([None, None]),
        "used": None,
        "timeout_default": "10 min",
        "timeout_max": "1 h",
    }
    return text or load(_LOOP, "dispatch"), values


def dispatching(*, later: int = 0, text: bytes | None = None) -> Play:
    """Return a dispatch by the leader of so many epochs later."""

    def play(scene: Scene, told: Told) -> Program:
        epoch = scene.epoch + later
        rows = yield dispatch(scene, epoch=epoch, text=text)
        told.dispatched += [row["job_id"] for row in rows]
        told.epochs += [epoch for _ in rows[:1]]
        yield None

    return play


def claiming(worker: Callable[[Scene], int], *, below_floor: bool = False) -> Play:
    """Return a claim of all that there is."""

    def play(scene: Scene, told: Told) -> Program:
        rows = yield _sent(
            _ATTEMPTS,
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
    return _sent(
        _ATTEMPTS,
        "finish",
        **_pairs(leases),
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
    rows = yield _sent(_ATTEMPTS, "finish_free", **_pairs(scene.leases))
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


def _lease(pair: Sequence[int]) -> dict[str, object]:
    job, token = pair
    return {"job": job, "token": token}


def handing_back(ended_as: str, delay: str | None = None) -> Play:
    """Return the end of what is held, but not of its jobs."""
    return simple(
        lambda scene: _sent(
            _ATTEMPTS,
            "hand_back",
            **_pairs(scene.leases),
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
    package: str = _BACKGROUND,
    tell: Callable[[Told, Sequence[Row]], list[int]] = lambda _told, _rows: [],
) -> Play:
    """Return a leader's statement; `tell` says which jobs it has changed."""

    def play(scene: Scene, told: Told) -> Program:
        named = {"ids": integers(scene.jobs)} if ids else {}
        rows = yield _sent(package, name, epoch=scene.epoch, **named, **values)
        told.epochs += [scene.epoch for _ in tell(told, rows)[:1]]
        yield None

    return play


def _promoted(told: Told, rows: Sequence[Row]) -> list[int]:
    jobs = [job for row in rows for job in row["ids"] or ()]
    told.promoted += jobs
    return jobs


def _recalled(told: Told, rows: Sequence[Row]) -> list[int]:
    jobs = [row["r"] for row in rows]
    told.recalled += jobs
    return jobs


def _stolen(_told: Told, rows: Sequence[Row]) -> list[int]:
    return [job for row in rows for job in row["stolen"]]


def _first(scene: Scene) -> dict[str, object]:
    return {"id": scene.jobs[0]}


def _second(scene: Scene) -> dict[str, object]:
    return {"id": scene.jobs[1]}


def _cli(
    name: str, values: Callable[[Scene], dict[str, object]]
) -> Callable[[Scene], Statement]:
    return lambda scene: (load("fairlead_cli", name), values(scene))


_AFTER = {"from_us": 0, "limit": 10}
_TURNS = {
    "from_us": 0,
    "after_queue": "",
    "after_tenant": "",
    "lanes": 10,
    "lane_jobs": 10,
    "limit": 10,
}
_STEAL = {"after": "(0,0)", "pages": 8192, "overdue_seconds": 30, "limit": 10}
_ACQUIRE = _sent(
    "fairlead_scheduler.leadership", "acquire", holder="next", lease_seconds=60, release=""
)
_NEW = {"queue": "default", "tenant": "", "kind": "noop", "priority": 0, "max_attempts": 5}
_INSERT = (
    load("fairlead", "enqueue"),
    (json.dumps([_NEW | {"dedup_key": "a"}, _NEW | {"dedup_key": "b"}]),),
)

stealing = leading("steal", _STEAL, tell=_stolen)
acquiring = simple(_ACQUIRE)

OPERATIONS = (
    Operation("dispatch", dispatching(), alone=True),
    Operation("claim", claiming(lambda scene: scene.worker)),
    Operation("claim_other", claiming(lambda scene: scene.other)),
    Operation("finish", finishing),
    Operation("finish_crossed", finishing_crossed),
    Operation("finish_free", finishing_free),
    Operation("complete", completing),
    Operation(
        "release_slot",
        simple(
            lambda scene: _sent(
                _ATTEMPTS, "release", **_pairs(scene.leases), run_us="{1000,1000}"
            )
        ),
    ),
    Operation(
        "extend",
        simple(
            lambda scene: _sent(_ATTEMPTS, "extend", **_pairs(scene.leases), seconds=[9.0, 9.0])
        ),
    ),
    Operation("fail", handing_back("failed", "1 hour")),
    Operation("snooze", handing_back("snoozed", "0 s")),
    Operation("cut_short", handing_back("released")),
    Operation("return", handing_back("returned")),
    Operation("crash", handing_back("crashed")),
    Operation("steal", stealing),
    Operation("steal_and_claim", then(stealing, claiming(lambda scene: scene.other))),
    Operation("mark_dead", leading("mark_dead", {"worker_lease_seconds": 0, "limit": 10})),
    Operation(
        "deregister",
        simple(lambda scene: _sent(_PARENT, "deregister", workers=integers([scene.worker]))),
    ),
    Operation("promote", leading("promote", _AFTER, tell=_promoted)),
    Operation("promote_turns", leading("promote_turns", _TURNS, tell=_promoted)),
    Operation("expire", leading("expire", _AFTER)),
    Operation("expire_turns", leading("expire_turns", _TURNS)),
    Operation("recall", leading("recall", {}, ids=True, tell=_recalled)),
    Operation(
        "raise_tags",
        leading("raise_tags", {"by": 500, "largest": 1 << 60}, ids=True, package=_LOOP),
    ),
    Operation(
        "renumber",
        leading("renumber", {"large": 900, "ahead_max": 1000, "limit": 10}, package=_LOOP),
    ),
    Operation("take_over", acquiring),
    Operation("take_over_and_dispatch", then(acquiring, dispatching(later=1))),
    Operation("cancel", together(_cli("cancel", _first))),
    Operation("cancel_both", together(_cli("cancel", _first), _cli("cancel", _second))),
    Operation(
        "cancel_jobs",
        together(
            _cli(
                "cancel_jobs",
                lambda _: {
                    "queue": "default",
                    "tenant": None,
                    "kind": None,
                    "after_id": 0,
                    "limit": 10,
                },
            )
        ),
    ),
    Operation("retry", together(_cli("retry", _first))),
    Operation("retry_both", together(_cli("retry", _first), _cli("retry", _second))),
    Operation(
        "redrive",
        together(
            _cli(
                "redrive",
                lambda _: {
                    "queue": "default",
                    "tenant": None,
                    "kind": None,
                    "after_at": "-infinity",
                    "after_id": 0,
                    "limit": 10,
                },
            )
        ),
    ),
    Operation("pause", together(_cli("pause", lambda _: {"queue": "default", "tenant": None}))),
    Operation("insert", simple(_INSERT)),
)
BY_NAME = {each.name: each for each in OPERATIONS}
