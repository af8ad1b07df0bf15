"""Reading the attributes of jobs that keys and rules need.

A head's values are read once, before it may go. Jobs in flight whose values are not known,
after a take-over or when a policy brings a key, come first: their queue is blocked until then.
Rules count nothing, so they block no queue for that.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from fairlead_scheduler.limits.blocked_reasons import KEY, KIND, RULE
from fairlead_scheduler.limits.concurrency_keys import (
    AttributeRequest,
    ConcurrencyKeys,
    has_same_keys,
    start_of,
)
from fairlead_scheduler.ordering.job_checks.job_rules import may_block_jobs
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.accounts import Branch
from fairlead_scheduler.ordering.levels.service import OUT
from fairlead_scheduler.pending.cursors import SKIPPED_MAX

_JOBS_AT_ONCE = 500
_HEADS_LOWEST, _HEADS_AT_ONCE = 4, 128
"""Of one lane: at most twice as many as may be passed over."""
_LANES_AT_ONCE = 1000
_UNEVALUATED_AT_ONCE = 200
"""Lanes that are checked again whose heads there was no time to evaluate."""
_BLOCKED_HEADS_AT_ONCE = 256
"""Heads blocked by rules that are evaluated again: with thousands it takes seconds."""


class AttributeQuery(NamedTuple):
    """A job whose values are to be read."""

    job_id: int
    keys: ConcurrencyKeys[Lane]
    lane: Lane | None
    """Whose head it is; None: it is in flight."""


def next_queries(ledger: Ledger) -> tuple[AttributeQuery, ...]:
    """Return whose values to read next, jobs in flight first; `learn` takes the answers."""
    asked: list[AttributeQuery] = []
    for keys in _keys(ledger):
        left = _JOBS_AT_ONCE - len(asked)
        asked += [
            AttributeQuery(job_id, keys, None) for job_id in islice(keys.unknown, max(0, left))
        ]
    starved, unread = ledger.key_state.starved, ledger.key_state.unread
    fair_share = max(_HEADS_LOWEST, _JOBS_AT_ONCE // (len(starved) or 1))
    for lanes, most in ((starved, min(fair_share, _HEADS_AT_ONCE)), (unread, _HEADS_AT_ONCE)):
        while lanes and len(asked) < _JOBS_AT_ONCE:
            lane = next(iter(lanes))
            del lanes[lane]
            if lane.queue.keys is not None and may_block_jobs(lane, lane.queue.keys):
                asked += _unread(ledger, lane, lane.queue.keys, most)
            elif lane.active and not lane.offered:
                # It waited for this, and what wanted it has gone.
                ledger.key_state.to_readmit[lane] = None
    return tuple(asked)


def attribute_requests(asked: Iterable[AttributeQuery]) -> tuple[AttributeRequest, ...]:
    """Return what to read for these jobs, job after job."""
    return tuple(
        [
            AttributeRequest(job_id, root, path)
            for job_id, keys, _ in asked
            for root, path in keys.paths
        ]
    )


def learn(ledger: Ledger, asked: Iterable[AttributeQuery], texts: Sequence[str | None]) -> None:
    """Take the values in the order of the queries; the last may be missing."""
    begin = 0
    for job_id, keys, lane in asked:
        end = begin + len(keys.paths)
        found, begin = texts[begin:end], end
        if lane is not None:
            ledger.key_state.to_readmit[lane] = None
        if end > len(texts):
            continue
        if lane is None:
            keys.learn(job_id, found)
            ledger.may_exceed_limits = True
        else:
            keys.learn_head(job_id, lane.tenant, found)


def readmit(ledger: Ledger, admit: Callable[[Lane], bool]) -> list[Branch]:
    """Admit, by their tags, lanes that keys blocked or whose heads' values were read.

    Returns the branches of those that begin to wait with nothing in flight.
    """
    begun = _unlock(ledger)
    _collect_due(ledger)
    latest: dict[Branch, int] = {}
    for lane in _take_some(ledger):
        account = lane.account
        branch, woken = account.branch, not account.active
        if admit(lane) and not lane.in_flight:
            begun.append(branch)
        if woken and account.key != OUT:
            # At V all would be equal, and the same one would have its turn each time.
            account.start = max(account.start, latest.get(branch, -1) + 1)
            latest[branch] = account.start
            branch.accounts.put(account)
    return begun


def _unlock(ledger: Ledger) -> list[Branch]:
    """Block the queues whose keys are not known, and find the lanes to readmit.

    Returns the branches of those that were unblocked and have nothing in flight.
    """
    begun: list[Branch] = []
    ledger.key_state.awaits_values = False
    for queue in ledger.key_state.queues:
        keys = queue.keys
        assert keys is not None
        if keys.unknown and keys.limits:
            ledger.key_state.awaits_values = True
            if queue.blocked_by != KEY:
                ledger.block(queue, KEY)
            continue
        if queue.blocked_by == KEY:
            ledger.unblock_queue(queue)
            begun += () if queue.in_flight else (queue.branch,)
        _readmit_next(ledger, keys.take_unblocked())
    _readmit_next(ledger, ledger.context.kinds.take_unblocked())
    return begun


def _readmit_next(ledger: Ledger, lanes: Iterable[Lane]) -> None:
    """Have lanes checked again, each in its own ledger."""
    for lane in lanes:
        context = ledger.context.fleet[lane.queue.pool]
        context.ledgers[lane.band].key_state.to_readmit[lane] = None


def _collect_due(ledger: Ledger) -> None:
    """Find the lanes for whose heads rules are to be evaluated, the longest wait first."""
    key_state = ledger.key_state
    for lane in tuple(islice(key_state.unevaluated, _UNEVALUATED_AT_ONCE)):
        del key_state.unevaluated[lane]
        key_state.to_readmit[lane] = None
    heads = 0
    while heads < _BLOCKED_HEADS_AT_ONCE:
        ripe = key_state.next_due(ledger.now_us)
        if ripe is None:
            break
        if ripe.blocked_by in (KEY, RULE, KIND):
            key_state.to_readmit[ripe] = None
            heads += min(SKIPPED_MAX, sum(len(stream.ready) for stream in ripe.heads.streams))


def _take_some(ledger: Ledger) -> tuple[Lane, ...]:
    """Return lanes to readmit by their tags, not too many at once."""
    to_readmit = ledger.key_state.to_readmit
    lanes = sorted(islice(to_readmit, _LANES_AT_ONCE), key=start_of)
    for lane in lanes:
        del to_readmit[lane]
    return tuple(lanes)


def rekey(ledger: Ledger, queue: Queue) -> bool:
    """Give a queue the keys of its terms; whether what is in flight has to be read.

    Results of former rules no longer count.
    """
    keys, renewed = queue.keys, queue.new_keys(ledger.context.kinds)
    if keys is None and renewed is None:
        return False
    if keys is not None and renewed is not None and has_same_keys(keys, renewed):
        keys.set_limits(renewed.limits)
        return False
    queue.keys = renewed
    ledger.context.share_keys(queue)
    _read_anew(ledger, queue.all_lanes(), reads=renewed is not None)
    if renewed is not None:
        ledger.key_state.queues[queue] = None
    else:
        ledger.key_state.queues.pop(queue, None)
        if queue.blocked_by == KEY:
            ledger.unblock_queue(queue)
    return renewed is not None


def _read_anew(ledger: Ledger, lanes: Iterable[Lane], *, reads: bool = True) -> None:
    """Have lanes checked again whose heads' values are not what they were."""
    for lane in lanes:
        if lane.blocked_by in (KEY, RULE, KIND) or (lane.active and not lane.offered):
            ledger.key_state.to_readmit[lane] = None
        elif lane.active and reads:
            ledger.key_state.unread[lane] = None


def read_kinds(ledger: Ledger, queue: Queue, tenant: str) -> None:
    """Read the kinds of one lane's heads from now on: some of its jobs have limited ones."""
    if queue.keys is None:
        queue.keys = queue.new_keys(ledger.context.kinds)
        ledger.context.share_keys(queue)
        ledger.key_state.queues[queue] = None
    elif queue.keys.kinds is None:
        queue.keys.read_kinds(ledger.context.kinds)
        _read_anew(ledger, queue.all_lanes())
    for lane in queue.all_lanes():
        if lane.tenant == tenant:
            lane.heads.wants_changes = True
            _read_anew(ledger, (lane,))


def kind_limits_changed(ledger: Ledger) -> None:
    """Have read anew what heads of lanes with limited kinds count as."""
    ledger.may_exceed_limits = True
    for queue in ledger.key_state.queues:
        keys = queue.keys
        if keys is not None and keys.kinds is not None:
            keys.heads.clear()
            _read_anew(ledger, [x for x in queue.all_lanes() if may_block_jobs(x, keys)])


def reread_in_flight(ledger: Ledger, queues: set[Queue]) -> None:
    """Have the values read of all that is in flight in these queues."""
    for job_id, job in ledger.in_flight_jobs.items():
        queue = job.lane.queue
        if queue in queues and queue.keys is not None:
            queue.keys.unknown[job_id] = job.lane.tenant


def _keys(ledger: Ledger) -> Iterator[ConcurrencyKeys[Lane]]:
    context = ledger.context
    for queue in ledger.key_state.queues:
        if queue.keys is not None and context.reads_keys_of(queue):
            yield queue.keys


def _unread(
    ledger: Ledger, lane: Lane, keys: ConcurrencyKeys[Lane], most: int
) -> list[AttributeQuery]:
    """Return up to `most` of a lane's first heads whose values are not known.

    It checks twice as many heads as are read at once: what lies behind them has time.
    """
    read, in_flight_jobs = keys.heads, ledger.in_flight_jobs
    heads = (head[0] for stream in lane.heads.streams for head in stream.ready)
    return [
        AttributeQuery(job_id, keys, lane)
        for job_id in islice(heads, 2 * _HEADS_AT_ONCE)
        if job_id not in read and job_id not in in_flight_jobs
    ][:most]
