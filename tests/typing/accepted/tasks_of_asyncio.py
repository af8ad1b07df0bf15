"""A coroutine is a coroutine: tasks, groups and time-outs take it."""

import asyncio

import psycopg

import fairlead


async def order(one: psycopg.AsyncConnection, other: psycopg.AsyncConnection) -> None:
    """Enqueue over two connections at a time."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(fairlead.enqueue(one, "a"))
        group.create_task(fairlead.enqueue_many(other, [fairlead.NewJob(kind="b")]))
    print(task.result())
    await asyncio.wait_for(fairlead.enqueue(one, "a"), timeout=5)
    found = await asyncio.gather(fairlead.enqueue(one, "a"), fairlead.enqueue(other, "b"))
    print(found[0], found[1])
