"""An application whose processes die of answers that are too large, as for lack of memory.

HUNGRY_APP_BYTES says how much text one answer of the database may have, and HUNGRY_APP_HOW what
happens to more: `killed`, as by the kernel, or `refused`, as by libpq where there is a limit on
the process. The kernel would decide by what else the machine runs; this decides by the answer
alone, and at the same point.
"""

import os
import signal

import psycopg
from psycopg.abc import AdaptContext, Buffer
from psycopg.types.string import TextLoader

import fairlead

_BYTES_MAX = int(os.environ["HUNGRY_APP_BYTES"])
_IS_KILLED = os.environ["HUNGRY_APP_HOW"] == "killed"

tasks = fairlead.Tasks()


class _BoundedLoader(TextLoader):
    """Reads the texts of one answer, as far as they fit."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        """Begin with an answer."""
        super().__init__(oid, context)
        self._bytes = 0

    def load(self, data: Buffer) -> bytes | str:
        """Read one text."""
        self._bytes += len(memoryview(data))
        if self._bytes > _BYTES_MAX:
            if _IS_KILLED:
                os.kill(os.getpid(), signal.SIGKILL)
            raise psycopg.DatabaseError("out of memory for query result")
        return super().load(data)


psycopg.adapters.register_loader("text", _BoundedLoader)


@tasks.handler("eats")
async def eats(_job: fairlead.Job) -> None:
    """Do nothing: the payload is here."""
