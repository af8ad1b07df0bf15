"""When what is kept of pages is dropped."""

import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from fairlead_console.web.answers import Fresh


@pytest.mark.parametrize(
    ("method", "status", "dropped"),
    [("POST", 303, 1), ("POST", 503, 1), ("POST", 403, 0), ("GET", 200, 0)],
)
def test_pages_are_read_anew_after_what_may_have_changed_something(
    method: str, status: int, dropped: int
) -> None:
    """Not after a look, and not after a request that was refused."""
    calls: list[int] = []

    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        assert status == message["status"]
        assert dropped == len(calls), "before the answer is sent"

    fresh = Fresh(answer, lambda: calls.append(1))
    asyncio.run(fresh({"type": "http", "method": method}, receive, send))

    assert dropped == len(calls)
