"""What is done to many jobs that are alike: to how many it would be, and some batches of it."""

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Final, Literal, cast

from fairlead.db.connect import Address, Connection, connect
from fairlead.inspection import jobs
from fairlead.inspection.jobs import State
from fairlead.inspection.rows import Row
from fairlead_console.pages.bulk import Alike, Place, Run
from fairlead_console.pages.values import Count
from fairlead_console.reads.acts import SETTINGS
from fairlead_console.reads.moments import ask

COUNTED_MAX: Final = 10_000
"""How far the jobs of a state are counted before somebody says yes."""
UNFINISHED: Final = (State.SCHEDULED, State.PENDING, State.QUEUED, State.RUNNING)
_PAGE = 1000
_LOOK_SECONDS = 1.0
"""For how long the jobs of a state are counted."""
_BATCH = 500
"""Jobs in a transaction: its locks keep nobody for more than some tens of milliseconds."""

_Statement = Literal["cancel_jobs", "redrive"]


@dataclass(frozen=True, slots=True)
class Found:
    """Jobs of a state that are alike."""

    count: Count
    newest: list[Row]


def unfinished(session: Connection, alike: Alike, state: State) -> Found:
    """Count them up to a bound, and for a bounded time."""
    until = time.monotonic() + _LOOK_SECONDS
    found: list[Row] = []
    before: int | None = None
    while True:
        wanted = jobs.Filter(**asdict(alike), state=state, before=before, limit=_PAGE)
        page = jobs.newest(session, wanted)
        found += page.rows
        before = page.go_on_before
        if before is None and len(page.rows) == _PAGE:
            before = cast("int", page.rows[-1]["id"])
        if before is None or len(found) > COUNTED_MAX or time.monotonic() >= until:
            break
    number = min(len(found), COUNTED_MAX)
    return Found(Count(number, or_more=before is not None), found[:_PAGE])


def failed(session: Connection, alike: Alike) -> tuple[Count, str]:
    """Count those that failed and were not run again, and say until when it looked."""
    (row,) = ask(session, "failed_alike", {**asdict(alike), "most": COUNTED_MAX})
    count = Count(cast("int", row["jobs"]), or_more=bool(row["is_more"]))
    return count, str(row["through_at"])


def go_on(address: Address, run: Run, *, actor: str, seconds: float) -> Run:
    """Do batches for some seconds, at least one, each in a transaction of its own.

    Returns:
        How far it has come.

    Raises:
        Unreachable: with one sentence that says why.
        psycopg.Error: the database refused it; the batches before stay done.
    """
    until = time.monotonic() + seconds
    statement: _Statement = "cancel_jobs" if run.verb == "cancel" else "redrive"
    place, done = run.place, Counter(run.done)
    given = {**asdict(run.alike), "through": run.through, "limit": _BATCH}
    session = connect(address, name="console", more=SETTINGS)
    try:
        while place.after_id is not None:
            with session.transaction():
                ask(session, "act_as", {"actor": actor, "reason": run.reason})
                (step,) = ask(session, statement, {**given, **asdict(place)})
            place = Place(cast("int | None", step.pop("after_id")), str(step.pop("after_at")))
            done.update({name: int(str(count)) for name, count in step.items()})
            if time.monotonic() >= until:
                break
    finally:
        session.close()
    return run.now(place, done)
