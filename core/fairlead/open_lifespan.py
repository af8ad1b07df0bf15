"""A lifespan that was entered, in one task from its start to its end.

What is entered in one task and left in another breaks task groups and cancel scopes.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager


class LifespanTask:
    """Enters an asynchronous lifespan and leaves it, in a task of the loop that runs.

    Args:
        opened: what the lifespan's function made.
    """

    def __init__(self, opened: AbstractAsyncContextManager[object]) -> None:
        self._opened = opened
        self._entered: asyncio.Future[object] | None = None
        self._over: asyncio.Event | None = None
        self._task: asyncio.Task[object] | None = None

    async def enter(self) -> object:
        """Start; return what it yields, or raise what it raises."""
        self._over = asyncio.Event()
        self._entered = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(), name="lifespan")
        await asyncio.wait({self._entered, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not self._entered.done():
            await self._task  # which raises why
            raise RuntimeError("it has ended without a yield")
        return self._entered.result()

    async def leave(self) -> None:
        """End, or raise what it raises."""
        assert self._over is not None
        assert self._task is not None
        self._over.set()
        await self._task

    def when_over(self, call: Callable[[BaseException | None], None]) -> None:
        """Have this called with the error, if any, when it ends without having been left."""
        task, over = self._task, self._over
        assert task is not None
        assert over is not None

        def ended(_: object) -> None:
            if not over.is_set():
                call(asyncio.CancelledError() if task.cancelled() else task.exception())

        task.add_done_callback(ended)

    async def _live(self) -> object:
        assert self._over is not None
        assert self._entered is not None
        async with self._opened as yielded:
            self._entered.set_result(yielded)
            return await self._over.wait()
