"""The handlers of chancy's peer, which it finds by their import path."""

from __future__ import annotations

from bench.probe import Probe

PROBES: list[Probe] = []


async def stamp(n: int, pad: str) -> None:
    """Leave the time of the handler's start; the payload's padding is not used."""
    del pad
    PROBES[0].stamped(n)


async def nothing(n: int, pad: str) -> None:
    """Count the start."""
    del n, pad
    PROBES[0].started()
