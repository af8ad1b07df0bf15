"""The application of the chaos whose handlers do harm to the process that they run in.

What a process has is what they spoil: descriptors, memory, threads, copies of itself, its event
loop, the interpreter, signals, its folder, its environment and its end. They do it once they
have recorded that they have finished, so that what becomes of them is judged as of others.
Handlers that do none are those of `tests.chaos.app`, in the same processes.
"""

import asyncio
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from tempfile import TemporaryDirectory
from threading import Event, Timer

import fairlead
from fairlead import Job
from tests.chaos.app import note, tasks

__all__ = ["KINDS", "tasks"]

_DESCRIPTORS, _LOWEST = 256, 3
_THREADS = 100
_MIB = 2**20
_LATER_SECONDS = 0.05
_BLOCKED_SECONDS = 8.0
_kept: list[object] = []


def _take_descriptors() -> None:
    _lower_limit(_DESCRIPTORS)
    try:
        while True:
            _kept.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return


def _lower_limit(count: int = _LOWEST) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def _close_descriptors() -> None:
    _lower_limit()
    os.closerange(_LOWEST, 1 << 16)


def _close_output() -> None:
    os.close(1)
    os.close(2)


def _keep_memory() -> None:
    _kept.append(b"." * (256 * _MIB))


def _leave_threads() -> None:
    for _ in range(_THREADS):
        threading.Thread(target=Event().wait, daemon=True).start()


def _fork() -> None:
    """Have a copy of the process, both of which go on where they are."""
    if copy := os.fork():
        threading.Thread(target=os.waitpid, args=[copy, 0], daemon=True).start()


def _fork_and_raise() -> None:
    if not os.fork():
        raise ValueError("in the copy")


def _block() -> None:
    """Stand still, on the event loop where it is that."""
    time.sleep(_BLOCKED_SECONDS)


def _compute() -> None:
    """Hold the interpreter's lock."""
    until = time.monotonic() + _BLOCKED_SECONDS
    while time.monotonic() < until:
        pow(3, 10**7)


def _cancel_others() -> None:
    for task in asyncio.all_tasks(asyncio.get_running_loop()):
        if task is not asyncio.current_task():
            task.cancel()


def _stop_loop() -> None:
    asyncio.get_running_loop().stop()


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)


def _lose_folder() -> None:
    with TemporaryDirectory() as folder:
        os.chdir(folder)


def _forget_environment() -> None:
    os.environ.clear()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _end() -> None:
    os._exit(0)


def _end_soon() -> None:
    Timer(_LATER_SECONDS, os.abort).start()


def _interrupt() -> None:
    raise KeyboardInterrupt


def _exit() -> None:
    sys.exit(3)


HARMS: dict[str, Callable[[], None]] = {
    harm.__name__.strip("_"): harm
    for harm in (
        _take_descriptors,
        _lower_limit,
        _close_descriptors,
        _close_output,
        _keep_memory,
        _leave_threads,
        _fork,
        _fork_and_raise,
        _block,
        _lose_folder,
        _forget_environment,
        _die,
        _end,
        _end_soon,
        _interrupt,
        _exit,
    )
}
"""What may be done to a process from anywhere in it,"""
_OF_LOOP = {each.__name__.strip("_"): each for each in (_cancel_others, _stop_loop, _compute)}
"""from a coroutine on its event loop, whose watch does not tell who keeps the interpreter in
turns with it from a thread,"""
_OF_MAIN = {each.__name__.strip("_"): each for each in (_ignore_signals,)}
"""and from its main thread."""


def _in_thread(harm: Callable[[], None]) -> Callable[[Job], None]:
    def run(job: fairlead.Job) -> None:
        note("started", job)
        note("finished", job)
        harm()

    return run


def _on_loop(harm: Callable[[], None]) -> Callable[[Job], Coroutine[None, None, None]]:
    async def run(job: fairlead.Job) -> None:
        note("started", job)
        await asyncio.sleep(0)
        note("finished", job)
        harm()

    return run


_kinds: list[str] = []
for _name, _harm in HARMS.items():
    tasks.handler(f"{_name}_in_thread")(_in_thread(_harm))
    tasks.handler(f"{_name}_apart", process=True)(_in_thread(_harm))
    _kinds += [f"{_name}_in_thread", f"{_name}_apart"]
for _name, _harm in {**HARMS, **_OF_LOOP, **_OF_MAIN}.items():
    tasks.handler(f"{_name}_on_loop")(_on_loop(_harm))
    _kinds.append(f"{_name}_on_loop")
KINDS = tuple(_kinds)
"""Everything that does harm."""
