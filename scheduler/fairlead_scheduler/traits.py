"""Reading what keys and rules ask of jobs: of which ones, and what follows from the answers.

A head's values are read once, before it may go. What is in flight without its values known,
after a take-over or when a policy brings a key, comes first: its queue is held until then.
Rules count nothing, so that for them no queue is held.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from fairlead_scheduler.books import Lane, Queue
from fairlead_scheduler.bounds import KEY, RULE
from fairlead_scheduler.keys import Keys, Trait, same_keys, start_of
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import OUT
from fairlead_scheduler.streams import SKIPPED_MAX
from fairlead_scheduler.verdicts import chooses

_JOBS_AT_ONCE = 500
_HEADS_LOWEST, _HEADS_AT_ONCE = 4, 128
"""Of one lane: at most twice as many as may be passed over."""
_LANES_AT_ONCE = 1000
_UNJUDGED_AT_ONCE = 200
"""Lanes that are looked at again whose heads nobody had the time to look at."""
_HELD_HEADS_AT_ONCE = 256
"""Heads that rules hold and that are looked at again: with thousands it takes seconds."""


class Asked(NamedTuple):
    """A job whose values are to be read."""

    job_id: int
    keys: Keys[Lane]
    lane: Lane | None
    """Whose head it is; None: it is in flight."""


def ask(ledger: Ledger) -> tuple[Asked, ...]:
    """Return whose values to read next, those in flight first; `learn` takes the answers."""
    asked: list[Asked] = []
    for keys in _keys(ledger):
        left = _JOBS_AT_ONCE - len(asked)
        asked += [Asked(job_id, keys, None) for job_id in islice(keys.unknown, max(0, left))]
    starved, unread = ledger.keyed.starved, ledger.keyed.unread
    fair_share = max(_HEADS_LOWEST, _JOBS_AT_ONCE // (len(starved) or 1))
    for lanes, most in ((starved, min(fair_share, _HEADS_AT_ONCE)), (unread, _HEADS_AT_ONCE)):
        while lanes and len(asked) < _JOBS_AT_ONCE:
            lane = next(iter(lanes))
            del lanes[lane]
            if lane.queue.keys is not None and chooses(lane, lane.queue.keys):
                asked += _unread(ledger, lane, lane.queue.keys, most)
    return tuple(asked)


def wanted(asked: Iterable[Asked]) -> tuple[Trait, ...]:
    """Return what to read for these jobs, job after job."""
    return tuple(
        [Trait(job_id, root, path) for job_id, keys, _ in asked for root, path in keys.paths]
    )


def learn(ledger: Ledger, asked: Iterable[Asked], texts: Sequence[str | None]) -> None:
    """Take the values, in the order in which they were asked for; the last may be missing."""
    begin = 0
    for job_id, keys, lane in asked:
        end = begin + len(keys.paths)
        found, begin = texts[begin:end], end
        if lane is not None:
            ledger.keyed.again[lane] = None
        if end > len(texts):
            continue
        if lane is None:
            keys.learn(job_id, found)
            ledger.over = True
        else:
            keys.learn_head(job_id, lane.tenant, found)


def look_again(ledger: Ledger, admit: Callable[[Lane], bool]) -> list[Queue]:
    """Admit lanes which keys held, or whose heads' values were read, by their tags.

    Returns the queues of those that begin to wait, with nothing in flight.
    """
    begun = _unlock(ledger)
    _judge_again(ledger)
    latest: dict[Queue, int] = {}
    for lane in _take_again(ledger):
        queue, woken = lane.queue, not lane.active
        if admit(lane) and not lane.in_flight:
            begun.append(queue)
        if woken and lane.key != OUT:
            # At V all would be equal, and the same one would have its turn each time.
            lane.start = max(lane.start, latest.get(queue, -1) + 1)
            latest[queue] = lane.start
            queue.lanes.put(lane)
    return begun


def _unlock(ledger: Ledger) -> list[Queue]:
    """Hold the queues whose keys are not known, and find the lanes to be looked at again.

    Returns the queues that were let go and have nothing in flight.
    """
    begun: list[Queue] = []
    ledger.keyed.awaits_values = False
    for queue in ledger.keyed.queues:
        keys = queue.keys
        assert keys is not None
        if keys.unknown and keys.demands:
            ledger.keyed.awaits_values = True
            if queue.held != KEY:
                ledger.hold(queue, KEY)
            continue
        if queue.held == KEY:
            ledger.free(queue)
            begun += () if queue.in_flight else (queue,)
        for lane in keys.wake():
            shared = ledger.shared.fleet[lane.queue.pool]
            shared.ledgers[lane.band].keyed.again[lane] = None
    return begun


def _judge_again(ledger: Ledger) -> None:
    """Find the lanes with heads for which rules are to be looked at, the longest wait first."""
    keyed = ledger.keyed
    for lane in tuple(islice(keyed.unjudged, _UNJUDGED_AT_ONCE)):
        del keyed.unjudged[lane]
        keyed.again[lane] = None
    heads = 0
    while heads < _HELD_HEADS_AT_ONCE:
        ripe = keyed.next_judged(ledger.now_us)
        if ripe is None:
            break
        if ripe.held in (KEY, RULE):
            keyed.again[ripe] = None
            heads += min(SKIPPED_MAX, sum(len(stream.ready) for stream in ripe.heads.streams))


def _take_again(ledger: Ledger) -> tuple[Lane, ...]:
    """Return lanes to be looked at again, not too many at once, by their tags."""
    again = ledger.keyed.again
    lanes = sorted(islice(again, _LANES_AT_ONCE), key=start_of)
    for lane in lanes:
        del again[lane]
    return tuple(lanes)


def rekey(ledger: Ledger, queue: Queue) -> bool:
    """Give a queue the keys of its terms; whether what is in flight has to be read.

    Verdicts of former rules count no more.
    """
    keys, made = queue.keys, queue.made_keys()
    if keys is None and made is None:
        return False
    if keys is not None and made is not None and same_keys(keys, made):
        keys.revise(made.demands)
        return False
    queue.keys = made
    ledger.shared.share_keys(queue)
    for lane in queue.every():
        if lane.held in (KEY, RULE) or (lane.active and lane.key == OUT):
            ledger.keyed.again[lane] = None
        elif lane.active and made is not None:
            ledger.keyed.unread[lane] = None
    if made is not None:
        ledger.keyed.queues[queue] = None
    else:
        ledger.keyed.queues.pop(queue, None)
        if queue.held == KEY:
            ledger.free(queue)
    return made is not None


def forget(ledger: Ledger, queues: set[Queue]) -> None:
    """Have the values read of all that is in flight in these queues."""
    for job_id, flight in ledger.flights.items():
        queue = flight.lane.queue
        if queue in queues and queue.keys is not None:
            queue.keys.unknown[job_id] = flight.lane.tenant


def _keys(ledger: Ledger) -> Iterator[Keys[Lane]]:
    shared = ledger.shared
    for queue in ledger.keyed.queues:
        if queue.keys is not None and shared.asks_for(queue):
            yield queue.keys


def _unread(ledger: Ledger, lane: Lane, keys: Keys[Lane], most: int) -> list[Asked]:
    """Return up to so many of a lane's first heads whose values are not known.

    Looked at are twice as many as are read at once: what lies behind them has time.
    """
    read, flights = keys.heads, ledger.flights
    heads = (head[0] for stream in lane.heads.streams for head in stream.ready)
    return [
        Asked(job_id, keys, lane)
        for job_id in islice(heads, 2 * _HEADS_AT_ONCE)
        if job_id not in read and job_id not in flights
    ][:most]
