"""An application before a deploy, and after it: with a handler more, and with one less."""

import asyncio

import fairlead

before, after = fairlead.Tasks(), fairlead.Tasks()


async def _work(_job: fairlead.Job) -> None:
    await asyncio.sleep(0.01)


for _kind in ("lasting", "former"):
    before.handler(_kind)(_work)
for _kind in ("lasting", "coming"):
    after.handler(_kind)(_work)
