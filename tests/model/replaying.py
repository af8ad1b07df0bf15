"""Trace conformance: what a database recorded under faults is a path of the model.

Or it is refused, with the first event that no transaction of the model could be.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.model import maude

_BASE = 10**12
_BEGUN = (
    "timeline({0.timeline}) up(LEASE) floor(0) drawn(0, 0)"
    " leader('nobody, {0.epoch}, 0, 0, {0.timeline})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row that changed, as the database recorded it; numbers that do not apply are 0."""

    place: int
    """In the order of the changes of each row."""
    transaction: int
    what: str
    at_ms: int
    """When its transaction began, by the database's clock."""
    started_ms: int
    """When the server had started."""
    timeline: int
    by: str = ""
    """Whose session it was."""
    job: int = 0
    token: int = 0
    worker: int = 0
    epoch: int = 0
    lease_ms: int = 0
    holder: str = ""


def refused(steps: Sequence[Step], *, lease_seconds: float) -> tuple[str, ...]:
    """Return the first event that no transaction of the model could be, or nothing.

    What comes after it is not looked at: it may follow from what is wrong.
    """
    if not steps:
        return ()
    model = maude.module(
        "REPLAYING",
        LEASE=f"{lease_seconds * 1000:.0f}",
        LEAD="0",
        BASE=str(_BASE),
        MARGIN="0",
        breakage="'nothing",
    )
    sorts = [model.findSort(each).kind() for each in ("Rows", "Event")]
    replay = model.findSymbol("step", sorts, sorts[0])
    rows = maude.parsed(model, _BEGUN.format(steps[0]))
    for event, step in events(steps):
        after = replay(rows, maude.parsed(model, event))
        after.reduce()
        if str(after) == "refused":
            return (f"{event}, at place {step.place}",)
        rows = after
    return ()


def events(steps: Sequence[Step]) -> Iterator[tuple[str, Step]]:
    """Yield the model's events, with the first step of each; time passes between them."""
    now, started, timeline = steps[0].at_ms, steps[0].started_ms, steps[0].timeline
    inserted: set[int] = set()
    for group in _transactions(steps):
        step = group[0]
        if step.timeline != timeline:
            yield "promoted", step
            timeline = step.timeline
        if step.at_ms > now:
            yield f"passed({step.at_ms - now})", step
            now = step.at_ms
        if step.started_ms != started:
            yield f"started({max(now - step.started_ms, 0)})", step
            started = step.started_ms
        if step.job and step.job not in inserted:
            inserted.add(step.job)
            yield f"inserted({step.job})", step
        # A lease ends by when its transaction began, and others may have gone before it since.
        if event := _event(group, late_ms=now - step.at_ms + _ROUNDED_MS):
            yield event, step


def _transactions(steps: Iterable[Step]) -> Iterator[tuple[Step, ...]]:
    """Yield what each transaction did to each job, in the order of the first steps."""
    groups: dict[tuple[int, ...], list[Step]] = {}
    for step in sorted(steps, key=lambda each: each.place):
        alone = () if step.job else (step.place,)
        groups.setdefault((step.transaction, step.job, *alone), []).append(step)
    yield from (tuple(group) for group in groups.values())


def _event(group: tuple[Step, ...], *, late_ms: int) -> str:
    """Return what the steps of a transaction amount to for one job, or a step without a job."""
    step = group[0]
    what = " ".join(sorted({each.what for each in group}))
    key = [what]
    if step.by.startswith("fairlead scheduler") and what in _LEADERS:
        key.append("leader")
    token = max(each.token for each in group)
    if not token and what in _TOKENLESS:
        key.append("no token")
    event = _EVENTS.get(" by ".join(key), f"unknown('{what.replace(' ', '-')})")
    return event.format(
        job=step.job,
        token=token,
        worker=step.worker,
        epoch=step.epoch,
        ms=max(0, step.lease_ms - late_ms),
        holder=step.holder,
    )


_ROUNDED_MS = 2
"""What rounding to milliseconds may add to a lease; nobody relies on its last ones."""
_LEADERS = {"handed back", "died"}
"""Steps that are others when a leader takes them."""
_TOKENLESS = {"dequeued", "dequeued ended"}
"""Steps that are others when nobody held the job."""
_EVENTS = {
    "dispatched": "dispatched({job}, {epoch})",
    "claimed": "claimed({job}, {worker}, {token})",
    "handed back": "handedBack({job}, {token})",
    "handed back by leader": "stolen({job}, {token})",
    "handed back overdue": "handedBack({job}, {token})",
    "dequeued ended": "finished({job}, {token})",
    "dequeued ended by no token": "endedUnclaimed({job})",
    "completed ended": "finished({job}, {token})",
    "dequeued": "putOff({job}, {token})",
    "dequeued by no token": "recalled({job})",
    "ended": "endedUnqueued({job})",
    "registered": "registered({worker}, {ms})",
    "renewed": "renewed({worker}, {ms})",
    "died": "died({worker})",
    "died by leader": "lapsed({worker})",
    "led": "led('{holder}, {epoch}, {ms})",
    "prolonged": "prolonged({ms})",
    "begun": "",
    "released": "",  # it frees a slot: its job has ended before
}
"""The model's event for what a transaction did: nothing, if the model does not look at it."""
