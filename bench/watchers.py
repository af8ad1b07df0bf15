"""Browsers that watch a console: each follows its stream, and asks for its page as told.

They are coroutines of one process and render nothing, so that many of them leave the machine
to what is measured.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bench.processes import BrokenRunError

_ANSWER_SECONDS = 30.0
_BEGUN_SECONDS = 60.0


@dataclass(slots=True)
class Watched:
    """What the browsers have seen so far."""

    streams: int = 0
    """Streams that have begun."""
    latencies_seconds: list[float] = field(default_factory=list[float])
    """How long each page took, from the request to its last byte."""
    refused: int = 0
    """Answers that were none of a page, or did not come."""


async def _get(host: str, port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        writer.write(request.encode())
        return await reader.read()
    finally:
        writer.close()


async def fetch(address: str, path: str) -> float:
    """Ask for a page, and return the seconds until its last byte.

    Raises:
        BrokenRunError: the answer is no page, or does not come within half a minute.
    """
    where = urlsplit(address)
    begun = time.monotonic()
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            found = await _get(str(where.hostname), int(where.port or 80), path)
    except (OSError, TimeoutError) as error:
        raise BrokenRunError(f"{path}: {error or 'no answer'}") from error
    if not found.startswith(b"HTTP/1.1 200"):
        raise BrokenRunError(f"{path}: {found[:200]!r}")
    return time.monotonic() - begun


async def _watch(address: str, path: str, watched: Watched) -> None:
    where = urlsplit(address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        writer.write(f"GET /changes HTTP/1.1\r\nHost: {where.hostname}\r\n\r\n".encode())
        while line := await reader.readline():
            if line.startswith(b"retry"):
                watched.streams += 1
            elif line.startswith(b"event: changed"):
                try:
                    watched.latencies_seconds.append(await fetch(address, path))
                except BrokenRunError:
                    watched.refused += 1
    finally:
        writer.close()


@contextlib.contextmanager
def watching(address: str, paths: Sequence[str]) -> Generator[Watched]:
    """Have a browser watch each of these pages until the end of the block.

    Raises:
        BrokenRunError: not all of them began within a minute.
    """
    watched, over, loop = Watched(), asyncio.Event(), asyncio.new_event_loop()

    async def watch() -> None:
        tasks = [asyncio.create_task(_watch(address, path, watched)) for path in paths]
        await over.wait()
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=loop.run_until_complete, args=(watch(),), name="browsers")
    thread.start()
    try:
        deadline = time.monotonic() + _BEGUN_SECONDS
        while watched.streams < len(paths):
            if time.monotonic() > deadline:
                raise BrokenRunError(
                    f"{watched.streams} of {len(paths)} browsers began to watch"
                )
            time.sleep(0.05)
        yield watched
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()
        loop.close()
