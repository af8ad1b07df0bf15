"""The stream of changes (server-sent events): a word that something has changed, and no data.

The browser then asks for its page again, so a stream shows nothing and needs no right.
"""

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import StreamingResponse

from fairlead_console.reads.pulse import Pulse

_ALIVE_SECONDS = 15.0
"""A word now and then keeps proxies from ending a quiet stream."""


def stream(pulse: Pulse) -> StreamingResponse:
    """Return the stream of one browser."""
    return StreamingResponse(
        _lines(pulse), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
    )


async def _lines(pulse: Pulse) -> AsyncIterator[str]:
    changed = asyncio.Event()
    pulse.add(changed)
    try:
        yield "retry: 3000\n\n"
        while not pulse.is_stopped:
            try:
                await asyncio.wait_for(changed.wait(), _ALIVE_SECONDS)
            except TimeoutError:
                yield ": alive\n\n"
                continue
            changed.clear()
            if not pulse.is_stopped:
                yield "event: changed\ndata: \n\n"
    finally:
        pulse.remove(changed)
