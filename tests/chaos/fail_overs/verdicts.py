"""What must be true after a fail-over, from the promoted server and the handlers' events: pure.

A synchronous standby has all that was acknowledged, so nothing is excused. Of an asynchronous
one only what it had not received is, and what follows from that: an attempt whose claim was
lost goes on beside the next one of its job, and changes nothing.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise

from tests.chaos import history
from tests.chaos.app import TRANSACTIONAL
from tests.chaos.fail_overs.orders import Acknowledged
from tests.chaos.history import Ended, Event, Found
from tests.chaos.records import Effect

TIMELINE = 10**12
"""What is added to a token for each promotion."""
Attempt = tuple[int, int]
"""A job and a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What the promoted server has."""

    seen: int
    """How many events had been recorded before it was read."""
    orders: Mapping[int, tuple[int, str]]
    """Job and kind of each order, by its number."""
    unfinished: Collection[int]
    ended: Sequence[Ended]
    effects: Sequence[Effect]
    claims: Collection[Attempt]
    usurped: tuple[int, ...]
    over: Sequence[str]
    strange: tuple[str, ...] = ()
    """The first change that no transaction of the model could have made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Excused:
    """What may be otherwise than it must be elsewhere."""

    orders: Collection[int] = ()
    """Orders that the standby had not received."""
    tails: Sequence[tuple[float, float]] = ()
    """Times, from when on a standby may have lacked what was stored until it was promoted."""
    killed_at: Mapping[int, float] = field(default_factory=dict[int, float])
    """When processes were killed, which leaves their attempts without an end."""
    frozen: Collection[int] = ()
    """Processes that were frozen while others took their jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What is wrong; all must be empty.

    `lost`: orders that were acknowledged and are not there, or whose jobs are nowhere. `twice`:
    jobs that ended twice, whose work was done twice, or that began again after an end that the
    server had acknowledged. `overlapping`: jobs of which two attempts ran at one time. `stale`:
    jobs that ended by an attempt that was not the last. `unseen`: jobs that ended without a
    handler. `usurped`: jobs that a deposed leader dispatched. `unknown`: attempts of whose
    claims the server knows nothing. `over`: dispatches that the policy did not allow.
    `stalled`: jobs that did not end in time. `strange`: what the model refuses.
    """

    lost: tuple[int, ...] = ()
    twice: tuple[int, ...] = ()
    overlapping: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()
    unseen: tuple[int, ...] = ()
    usurped: tuple[int, ...] = ()
    unknown: tuple[Attempt, ...] = ()
    over: tuple[str, ...] = ()
    stalled: tuple[int, ...] = ()
    strange: tuple[str, ...] = ()

    def wrong(self) -> dict[str, Sequence[object]]:
        """Return what is not empty, by its name."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: values for name, values in found.items() if values}


def judge(
    events: Sequence[Event],
    standing: Standing,
    acknowledged: Collection[Acknowledged],
    excused: Excused,
    stalled: Collection[int] = (),
) -> Verdict:
    """Hold what happened against what must be true.

    Args:
        events: recorded up to a moment after the server was asked.
        standing: what it said.
        acknowledged: orders up to a moment before it was asked.
        excused: what may be otherwise.
        stalled: jobs that did not end in time.
    """
    jobs = {job for job, _ in standing.orders.values()}
    booked = {job for job, kind in standing.orders.values() if kind in TRANSACTIONAL}
    violations = history.find_violations(
        events,
        Found(
            inserted=jobs,
            ended=standing.ended,
            unfinished=standing.unfinished,
            booked=booked,
            effects=standing.effects,
            usurped=standing.usurped,
        ),
    )
    gone = {each.number for each in acknowledged} - {*standing.orders} - {*excused.orders}
    before = events[: standing.seen]
    unknown = {(each.job, each.token) for each in before} - {*standing.claims}
    known = [each for each in before if (each.job, each.token) not in unknown]
    return Verdict(
        lost=(*sorted(gone), *violations.lost),
        twice=(*violations.twice, *sorted(_again(known, booked, excused))),
        overlapping=tuple(sorted(_overlapping(known, excused))),
        stale=violations.stale,
        unseen=violations.unseen,
        usurped=violations.usurped,
        unknown=tuple(sorted(_unexcused(before, unknown, excused))),
        over=tuple(standing.over),
        stalled=tuple(sorted(stalled)),
        strange=standing.strange,
    )


def tail(acknowledged: Collection[Acknowledged], received: int) -> set[int]:
    """Return the orders that a standby may lack which has received the log up to a place.

    Whatever a session had written before its next order began is in front of that one's place.
    """
    return {each.number for each in acknowledged if each.after is None or each.after > received}


def timeline(token: int) -> int:
    """Return the timeline of the server that gave the token."""
    return token // TIMELINE + 1


def _lost(at: float, excused: Excused) -> bool:
    """Tell whether what was stored then may be lost with a tail."""
    return any(since <= at <= until for since, until in excused.tails)


def _unexcused(
    events: Sequence[Event], unknown: Collection[Attempt], excused: Excused
) -> Iterator[Attempt]:
    """Yield the unknown attempts that did not begin while their claims could be lost.

    A worker begins what it has claimed before the server is gone a moment later, or much later.
    """
    firsts = [since for since, _ in excused.tails]
    for each in events:
        attempt = (each.job, each.token)
        begun = each.event == "started" and attempt in unknown
        if begun and not any(since <= each.at for since in firsts):
            yield attempt


def _again(events: Sequence[Event], booked: Collection[int], excused: Excused) -> Iterator[int]:
    """Yield the jobs that began again after their handlers had committed their ends."""
    ends: dict[int, int] = {}
    for each in events:
        if each.job not in booked:
            continue
        if each.event == "finished" and not _lost(each.at, excused):
            ends[each.job] = each.token
        elif each.event == "started" and ends.get(each.job, each.token) < each.token:
            yield each.job


def _overlapping(events: Sequence[Event], excused: Excused) -> Iterator[int]:
    """Yield the jobs of which an attempt began before the one before it had ended."""
    starts: dict[int, dict[int, Event]] = defaultdict(dict)
    ends: dict[Attempt, float] = {}
    for each in events:
        if each.event == "started":
            starts[each.job][each.token] = each
        else:
            ends[each.job, each.token] = each.at
    for job, attempts in starts.items():
        ordered = sorted(attempts.values(), key=lambda each: each.token)
        for former, latter in pairwise(ordered):
            if former.pid in excused.frozen:
                continue
            killed = excused.killed_at.get(former.pid, float("inf"))
            if min(ends.get((job, former.token), float("inf")), killed) > latter.at:
                yield job
