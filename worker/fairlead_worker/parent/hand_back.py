"""Store what a dead child had not: hand attempts back to the queue, and finish successes.

What is handed back is counted here, by queue and kind, because the child that ran it is dead.
So is what is finished, of queues and kinds that are not known any more.

An open transaction may have an attempt locked, such as that of the very handler whose process
was killed: the server ends the transaction when it notices. Until then the answer is `locked`,
and no call waits for it: the thread that makes them renews the lease.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial

import psycopg

from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_worker.attempts import error_class
from fairlead_worker.db.session import Session
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.attempt_table import UnstoredSuccess
from fairlead_worker.ipc.interruptions import Interruption
from fairlead_worker.ipc.messages import MetricsGrowth
from fairlead_worker.metrics.counters import Counters
from fairlead_worker.metrics.series import OTHER
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.lease_thread import LeaseThread, Reply
from fairlead_worker.parent.worker_store import HandBackResult

_RETRY_SECONDS = 0.5
_REFUSED_SECONDS = 5.0
_REFUSALS_MAX = 24
_BATCH = 500
_UNTOUCHED = ("stale", "locked")
_FOR_GOOD = ("failed", "cancelled")


class HandBacks:
    """The attempts that are being handed back.

    Args:
        lease: runs the database calls.
    """

    def __init__(self, lease: LeaseThread) -> None:
        self._lease = lease
        self._locked: list[tuple[float, Interruption]] = []
        self._unfinished: list[tuple[float, UnstoredSuccess]] = []
        self._refusals = 0
        self._clock = 0.0
        self._log, self._throttle = log.get("worker.hand_back"), LogThrottle()
        self.pending: frozenset[int] = frozenset()
        self.interrupted: Counter[str] = Counter()
        self.report_growth: Callable[[MetricsGrowth], None] = _discard_growth
        self._counters = Counters()
        self._uncounted_starts: set[int] = set()

    def note_uncounted_starts(self, tokens: Iterable[int]) -> None:
        """Note attempts whose start has not been counted, before they are handed back."""
        self._uncounted_starts.update(tokens)

    def expect(self, tokens: Iterable[int]) -> None:
        """Count attempts as pending already that will be handed back in a moment."""
        self.pending |= frozenset(tokens)

    def hand_back(self, endings: Iterable[Interruption]) -> None:
        """Hand attempts back as soon as the database answers."""
        wanted = tuple(endings)
        if wanted:
            self.pending |= {each.token for each in wanted}
            self._lease.submit(partial(self._hand_back, wanted))

    def finish(self, ended: Iterable[UnstoredSuccess]) -> None:
        """Store successes that a dead child had not, as soon as the database answers.

        Where the child had, nothing changes.
        """
        wanted = tuple(ended)
        self.expect(each.token for each in wanted)
        for first in range(0, len(wanted), _BATCH):
            self._lease.submit(partial(self._finish, wanted[first : first + _BATCH]))

    def hand_back_unheld(
        self,
        worker_id: int,
        claimed_until: datetime,
        held: frozenset[int],
        endings: Callable[[tuple[Key, ...]], Iterable[Interruption]],
    ) -> None:
        """Hand back what a worker has claimed and neither holds nor is handing back.

        Args:
            worker_id: the worker.
            claimed_until: until when claims count, by the database's clock.
            held: the tokens that it holds.
            endings: returns how these attempts end; called in the parent's loop.
        """
        held_tokens = held | self.pending
        self._lease.submit(
            partial(self._read_unheld, worker_id, claimed_until, held_tokens, endings)
        )

    def advance(self, now: float) -> None:
        """Ask again for what was locked or refused a while ago."""
        self._clock = now
        due = [ending for at, ending in self._locked if at <= now]
        self._locked = [(at, ending) for at, ending in self._locked if at > now]
        self.hand_back(due)
        unfinished = [each for at, each in self._unfinished if at <= now]
        if unfinished:
            self._refusals = 0
            self._unfinished = [(at, each) for at, each in self._unfinished if at > now]
            self.finish(unfinished)

    def forget(self) -> None:
        """Ask no more: the lease was lost, and its row's attempts are handed back otherwise."""
        self._locked.clear()
        self._unfinished.clear()
        self._uncounted_starts.clear()
        self.pending = frozenset()

    def count(self, results: Iterable[HandBackResult]) -> None:
        """Count and log what was handed back, in the parent's loop."""
        all_results = tuple(results)
        touched = tuple(each for each in all_results if each.state not in _UNTOUCHED)
        self._uncounted_starts.difference_update(
            each.ending.token for each in all_results if each.state == "stale"
        )
        counts = Counter((each.ending.ended_as, each.state) for each in touched)
        for (ended_as, state), count in sorted(counts.items()):
            self.interrupted[ended_as] += count
            self._log.info("attempts.ended", ended_as=ended_as, state=state, count=count)
        if touched:
            self._add(touched)

    def _add(self, touched: tuple[HandBackResult, ...]) -> None:
        with self._counters.lock:
            for each in touched:
                counts = self._counters.kind(each.queue or OTHER, each.kind or OTHER)
                counts.ended[each.ending.ended_as] += 1
                counts.started += each.ending.token in self._uncounted_starts
                if each.state in _FOR_GOOD:
                    counts.finished[each.state] += 1
        self._uncounted_starts.difference_update(each.ending.token for each in touched)
        self._report()

    def _report(self) -> None:
        growth = self._counters.take()
        if growth is not None:
            self.report_growth(growth)

    def _hand_back(self, endings: tuple[Interruption, ...], session: Session) -> Reply:
        return partial(self._handed_back, endings, worker_store.hand_back(session, endings))

    def _handed_back(
        self, endings: tuple[Interruption, ...], results: tuple[HandBackResult, ...]
    ) -> None:
        locked = {each.ending.token for each in results if each.state == "locked"}
        again = self._clock + _RETRY_SECONDS
        self._locked += [(again, each) for each in endings if each.token in locked]
        self.pending -= {each.token for each in endings} - locked
        self.count(results)

    def _finish(self, ended: tuple[UnstoredSuccess, ...], session: Session) -> Reply:
        try:
            stored, locked = worker_store.finish(session, ended)
        except psycopg.Error as error:
            if session.broken or not error_class.may_concern_some_only(error):
                raise  # so that it is tried again as it is
            return partial(self._refused, ended, error)
        return partial(self._finished, ended, len(stored), locked)

    def _refused(self, ended: tuple[UnstoredSuccess, ...], error: psycopg.Error) -> None:
        """Find what cannot be stored by halving a batch, and fail it if that is its own fault.

        The search is bounded where that may be all of it, as in `ending_writer`.
        """
        self._refusals += 1
        own, why = error_class.is_job_fault(error), one_line(error)
        if len(ended) > 1 and (own or self._refusals <= _REFUSALS_MAX):
            half = len(ended) // 2
            self.finish(ended[:half])
            self.finish(ended[half:])
        elif own:
            message = f"its ending could not be stored: {why}"
            self.hand_back(Interruption(*each.key, "failed", message) for each in ended)
        else:
            again = self._clock + _REFUSED_SECONDS
            self._unfinished += [(again, each) for each in ended]
            if self._throttle.due(type(error).__name__, self._clock):
                self._log.error("endings.not_stored", reason=why, count=len(ended))

    def _finished(
        self, ended: tuple[UnstoredSuccess, ...], stored: int, locked: frozenset[int]
    ) -> None:
        again = self._clock + _RETRY_SECONDS
        self._unfinished += [(again, each) for each in ended if each.token in locked]
        self.pending -= {each.token for each in ended} - locked
        if not stored:  # the child had
            return
        self._log.info("endings.stored_for_child", count=stored)
        with self._counters.lock:
            counts = self._counters.kind(OTHER, OTHER)  # their rows are gone
            counts.ended["succeeded"] += stored
            counts.finished["succeeded"] += stored
        self._report()

    def _read_unheld(
        self,
        worker_id: int,
        claimed_until: datetime,
        held_tokens: frozenset[int],
        endings: Callable[[tuple[Key, ...]], Iterable[Interruption]],
        session: Session,
    ) -> Reply:
        keys = worker_store.leased(session, (worker_id,), claimed_until)
        unheld = tuple(key for key in keys if key[1] not in held_tokens)
        return lambda: self.hand_back(endings(unheld))


def _discard_growth(_growth: MetricsGrowth) -> None:
    """Discard the growth: no page shows it."""
