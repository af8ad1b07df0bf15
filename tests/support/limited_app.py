"""Applications that limit a kind in the fleet, to different numbers and not at all."""

import asyncio

import fairlead

one, three, free = fairlead.Tasks(), fairlead.Tasks(), fairlead.Tasks()


async def _report(_job: fairlead.Job) -> None:
    await asyncio.sleep(0.25)


async def _quick(_job: fairlead.Job) -> None:
    await asyncio.sleep(0)


async def _hang(_job: fairlead.Job) -> None:
    await asyncio.sleep(3600)


for _tasks, _limit in ((one, 1), (three, 3), (free, None)):
    _tasks.handler("report", fleet_concurrency=_limit)(_report)
    _tasks.handler("hang", fleet_concurrency=_limit)(_hang)
    _tasks.handler("quick")(_quick)
