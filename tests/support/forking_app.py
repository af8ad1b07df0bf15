"""The application of tests of copies: its handlers fork, and return in both processes."""

import asyncio
import os

import psycopg

import fairlead
from fairlead import Job

_GONE_ON = 9
"""The exit code of a copy that has waited."""

tasks = fairlead.Tasks()


def _wait_for(copy: int) -> int:
    """Wait for the end of a copy of this process; return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])


def _leave_copy(how: str) -> None:
    """Return or raise, in a copy."""
    errors: dict[str, BaseException] = {
        "raise": ValueError("in the copy"),
        "exit": SystemExit(3),
    }
    if how in errors:
        raise errors[how]


@tasks.handler("forks")
def forks(job: Job[str]) -> int | None:
    """Fork in a thread; return in both, and in the original how the copy ended."""
    copy = os.fork()
    if copy:
        return _wait_for(copy)
    _leave_copy(job.payload)
    return None


@tasks.handler("forks_apart", process=True)
def forks_apart(job: Job[str]) -> int | None:
    """Do the same in a process."""
    copy = os.fork()
    if copy:
        return _wait_for(copy)
    _leave_copy(job.payload)
    return None


@tasks.handler("forks_on_loop")
async def forks_on_loop(job: Job[str]) -> int | None:
    """Do the same on the event loop, where the copy may wait as well."""
    copy = os.fork()
    if copy:
        return _wait_for(copy)
    if job.payload == "wait":
        await asyncio.sleep(0)
        os._exit(_GONE_ON)
    _leave_copy(job.payload)
    return None


_among: list[asyncio.Future[None]] = []


@tasks.handler("forks_among")
async def forks_among(job: Job[int]) -> None:
    """Wait for so many more of this kind; all go on in one turn, and the first one forks."""
    mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    _among.append(mine)
    if len(_among) > job.payload:
        for each in _among:
            each.set_result(None)
    await mine
    if mine is _among[0]:
        copy = os.fork()
        if not copy:
            await asyncio.sleep(0)
        _wait_for(copy)
    _note_process()


_first: list[int] = []


@tasks.handler("forks_first")
async def forks_first(job: Job[None]) -> None:
    """Fork in the first of this kind, before others of the same claim have begun."""
    _first.append(job.id)
    if len(_first) == 1:
        copy = os.fork()
        if not copy:
            await asyncio.sleep(0)
        _wait_for(copy)
    _note_process()


def _note_process() -> None:
    with psycopg.connect(os.environ["FAIRLEAD_DATABASE_URL"]) as connection:
        connection.execute("INSERT INTO seen (what) VALUES (%s)", [str(os.getpid())])
