"""What is done to a scene, and what that excuses.

A fault is over when it returns, or goes on until the round's `over` is called; then as many
programs run as before.
"""

import random
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic, time

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_cli.dev import process_table
from tests.chaos.fleet import Program, alive, send
from tests.chaos.repeats.scenes import Scene
from tests.support.waiting import until
from tests.support.worker_children import children_of

_LEASES_SECONDS = 20.0
"""Longer than a worker's lease, and than a leader's."""
_HOUR = 3600
_CUT_SHARE = 0.5
_FULL_SECONDS = 4.0
_ONE_GLUTTON = """
    INSERT INTO fairlead.jobs (kind, max_attempts)
    SELECT 'glutton', 1 WHERE NOT EXISTS (SELECT FROM fairlead.jobs WHERE kind = 'glutton')
"""


def nothing() -> None:
    """Mend what nothing has broken."""


@dataclass(slots=True)
class Done:
    """What a fault has done."""

    beside: str = ""
    """Whom it hit, where that is drawn."""
    victims: tuple[int, ...] = ()
    """Processes whose attempts were cut short,"""
    killed_at: Mapping[int, float] = field(default_factory=dict[int, float])
    """when they were killed,"""
    frozen: tuple[int, ...] = ()
    """and those that stood still."""
    over: Callable[[], None] = nothing
    """Ends what goes on, and starts what was killed."""


Fault = Callable[[Scene, random.Random], Done]


@dataclass(frozen=True, slots=True)
class Kind:
    """A fault and its scene.

    Args:
        scene: where it happens.
        happen: does it.
        own_sessions: whether handlers with sessions of their own are ordered beside it.
    """

    scene: str
    happen: Fault
    own_sessions: bool = True


def wait(seconds: float) -> None:
    """Let time pass."""
    over = monotonic() + seconds
    until(lambda: monotonic() >= over, what="the moment", seconds=seconds + 1)


def _kill(scene: Scene, program: Program, beside: str) -> Done:
    pids = program.kill()
    killed = dict.fromkeys(pids, time())
    over = lambda: scene.replace(program)  # noqa: E731 - what a round calls at its end
    victims = pids if program in scene.workers else ()
    return Done(beside, victims, killed, over=over)


def kill_a_worker(scene: Scene, chance: random.Random) -> Done:
    """Kill a worker with all its processes."""
    return _kill(scene, chance.choice(scene.workers), "")


def kill_the_leader(scene: Scene, _: random.Random) -> Done:
    """Kill the scheduler that leads."""
    return _kill(scene, scene.leader(), "")


def kill_a_child(scene: Scene, chance: random.Random) -> Done:
    """Kill one process of a worker."""
    worker = chance.choice(scene.workers)
    found = until(lambda: children_of(worker.pid), what="a child", seconds=30)
    victim = chance.choice(found)
    below = tuple(process_table.children(victim))
    with suppress(ProcessLookupError):
        send(signal.SIGKILL, [victim])
    return Done(victims=(victim,), killed_at=dict.fromkeys((victim, *below), time()))


def stop_a_worker(scene: Scene, chance: random.Random) -> Done:
    """Ask a worker to stop, as a rollout does, with a grace of a second."""
    worker = chance.choice(scene.workers)
    pids, began = worker.process_tree(), time()
    assert 0 == worker.stop(), worker.name
    return Done(killed_at=dict.fromkeys(pids, began), over=lambda: scene.replace(worker))


def _freeze(program: Program, chance: random.Random, beside: str = "") -> Done:
    pids = program.freeze()
    try:
        wait(chance.uniform(0.2, _LEASES_SECONDS))
    finally:
        program.thaw()
    return Done(beside, frozen=pids)


def freeze_a_worker(scene: Scene, chance: random.Random) -> Done:
    """Stop a worker for up to 20 s, and let it go on."""
    return _freeze(chance.choice(scene.workers), chance)


def freeze_the_leader(scene: Scene, chance: random.Random) -> Done:
    """Stop the leader for up to 20 s, and let it go on."""
    return _freeze(scene.leader(), chance)


def cut_connections(scene: Scene, chance: random.Random) -> Done:
    """Terminate half of the kinds of connections."""
    for kind in sorted(scene.fleet.connection_kinds()):
        if chance.random() < _CUT_SHARE:
            scene.fleet.terminate(kind)
    return Done()


def kill_the_server(scene: Scene, _: random.Random) -> Done:
    """Kill PostgreSQL, and start it again."""
    scene.server.kill()
    scene.server.start()
    return Done()


def freeze_the_server(scene: Scene, chance: random.Random) -> Done:
    """Stop PostgreSQL and its sessions for up to 8 s, and let them go on."""
    server = scene.server.pid
    assert server is not None
    pids = (server, *process_table.children(server))
    send(signal.SIGSTOP, pids)
    try:
        wait(chance.uniform(0.2, 8.0))
    finally:
        send(signal.SIGCONT, pids)
    return Done()


def kill_the_pooler(scene: Scene, _: random.Random) -> Done:
    """Kill PgBouncer, and start it again."""
    assert scene.pooler is not None
    scene.pooler.kill()
    scene.pooler.start()
    return Done()


def _node(scene: Scene) -> tuple[tuple[int, ...], str]:
    pids = scene.schedulers[0].process_tree() + scene.workers[0].process_tree()
    return pids, "with the leader" if scene.leader() is scene.schedulers[0] else "no leader"


def cut_off_a_node(scene: Scene, chance: random.Random) -> Done:
    """Cut the wire of a node for up to 20 s, one way or both."""
    assert scene.network is not None
    _, beside = _node(scene)
    ways = chance.choice(((True, True), (True, False), (False, True)))
    scene.network.cut(to_here=ways[0], to_there=ways[1])
    wait(chance.uniform(0.2, _LEASES_SECONDS))
    scene.network.mend()
    return Done(beside)


def lose_packets(scene: Scene, chance: random.Random) -> Done:
    """Have the wire of a node lose up to a half of what is sent, for 5 to 10 s."""
    assert scene.network is not None
    _, beside = _node(scene)
    scene.network.lose(chance.uniform(0.05, 0.5))
    wait(chance.uniform(5.0, 10.0))
    scene.network.mend()
    return Done(beside)


def narrow_the_wire(scene: Scene, chance: random.Random) -> Done:
    """Have 64 to 512 kbit/s through the wire of a node, and late, for 5 to 10 s."""
    assert scene.network is not None
    _, beside = _node(scene)
    scene.network.narrow(kbit=chance.randint(64, 512), late_ms=chance.randint(50, 500))
    wait(chance.uniform(5.0, 10.0))
    scene.network.mend()
    return Done(beside)


def lose_a_node(scene: Scene, _: random.Random) -> Done:
    """Have a machine be gone with its programs, of which no packet tells."""
    assert scene.network is not None
    pids, beside = _node(scene)
    programs = (scene.schedulers[0], scene.workers[0])
    victims = scene.workers[0].process_tree()
    scene.network.cut()
    send(signal.SIGKILL, pids)
    died_at = time()
    for each in programs:
        each.process.wait()

    def over() -> None:
        assert scene.network is not None
        scene.network.mend()
        for each in programs:
            scene.replace(each)

    return Done(beside, victims, dict.fromkeys(pids, died_at), over=over)


def fill_the_disk(scene: Scene, chance: random.Random) -> Done:
    """Fill the server's disk for up to 4 s."""
    assert scene.disk is not None
    scene.disk.fill()
    wait(chance.uniform(0.5, _FULL_SECONDS))
    scene.disk.free()
    scene.server.start()  # where it runs, nothing happens
    return Done()


def run_out_of_memory(scene: Scene, _: random.Random) -> Done:
    """Have the kernel kill a process of a worker for a job that takes more than there is.

    The other worker has enough: a job that it takes ends well, and is followed by another.
    """
    assert scene.memory is not None
    worker, group = scene.workers[0], scene.memory
    before, kills = worker.process_tree(), group.kills()
    with scene.fleet.connect() as db:

        def killed() -> bool:
            db.execute(_ONE_GLUTTON)
            return group.kills() > kills

        until(killed, what="a kill", seconds=60)
    # The kernel counts a kill before it has taken its victim's memory back.
    pids = until(lambda: tuple({*before} - alive(before)), what="a death")
    died_at = time()
    return Done(victims=pids, killed_at=dict.fromkeys(pids, died_at))


def set_the_clock(scene: Scene, chance: random.Random) -> Done:
    """Set the clock of a node by an hour, forth or back, again and again for 3 s."""
    assert scene.clock is not None
    for _ in range(10):
        scene.clock.set(chance.choice((-_HOUR, 0, _HOUR)))
        wait(0.3)
    return Done()


@contextmanager
def _taking(scene: Scene) -> Generator[Callable[[], None]]:
    taken: list[Connection[TupleRow]] = []

    def take() -> None:
        with suppress(psycopg.OperationalError):
            while True:
                taken.append(psycopg.connect(scene.programs_url, application_name="greedy"))

    try:
        yield take
    finally:
        for each in taken:
            each.close()


def use_up_connections(scene: Scene, chance: random.Random) -> Done:
    """Have an application take every free connection, while a program is killed, or none is.

    It also takes what becomes free; after up to 10 s it gives back all.
    """
    beside = chance.choice(
        (
            "nobody is killed",
            "the leader is killed",
            "the leader is killed",
            "a worker is killed",
        )
    )
    done = Done(beside)
    with _taking(scene) as take:
        take()
        if beside.startswith("the leader"):
            done = _kill(scene, scene.leader(), beside)
        elif beside.startswith("a worker"):
            done = _kill(scene, chance.choice(scene.workers), beside)
        over = monotonic() + chance.uniform(5.0, 10.0)
        while monotonic() < over:
            take()
            wait(0.02)
        if beside.startswith("the leader"):
            scene.leader()
    return done


FAULTS: dict[str, Kind] = {
    each.happen.__name__: each
    for each in (
        Kind("plain", kill_a_worker),
        Kind("plain", kill_a_child),
        Kind("plain", freeze_a_worker),
        Kind("plain", stop_a_worker),
        Kind("plain", kill_the_leader),
        Kind("plain", freeze_the_leader),
        Kind("plain", cut_connections),
        Kind("plain", kill_the_server),
        Kind("plain", freeze_the_server),
        Kind("pooled", kill_the_pooler),
        Kind("wired", cut_off_a_node, own_sessions=False),
        Kind("wired", lose_packets, own_sessions=False),
        Kind("wired", narrow_the_wire, own_sessions=False),
        Kind("wired", lose_a_node, own_sessions=False),
        Kind("cramped", fill_the_disk),
        Kind("tight", run_out_of_memory),
        Kind("clocked", set_the_clock),
        Kind("crowded", use_up_connections),
    )
}
