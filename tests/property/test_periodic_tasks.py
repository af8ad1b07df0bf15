"""Whatever a task of the leader raises, its thread goes on and its term does not end."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from types import SimpleNamespace
from typing import cast

import psycopg
from hypothesis import given
from hypothesis import strategies as st
from psycopg import errors
from psycopg.pq import TransactionStatus

from fairlead.db.connect import Connection
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.periodic import PeriodicThread
from fairlead_scheduler.leadership.election import LeaderLease
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.settings import SchedulerSettings

_SECONDS, _POLL_SECONDS = 20.0, 0.05
_HOUR = 3600.0
_NAMES = ("fire", "promote", "audit")
_FAULTS = st.sampled_from(
    [
        *(psycopg.OperationalError, errors.QueryCanceled, psycopg.DataError),
        *(ValueError, KeyError, TypeError, OverflowError, RecursionError, AssertionError),
        *(ZeroDivisionError, AttributeError, OSError, MemoryError, StopIteration),
    ]
)
Turn = tuple[str, type[Exception] | None]
_TURNS = st.tuples(st.sampled_from(_NAMES), st.none() | _FAULTS)


class _Nobody(Wakeup):
    """Wakes nobody."""

    def __init__(self) -> None:
        pass

    def wake(self) -> None:
        """Do nothing."""


@contextmanager
def thread_of(
    tasks: Sequence[PeriodicTask], failed: SimpleQueue[str]
) -> Generator[tuple[PeriodicThread, LeaderLease]]:
    """Yield a thread that does these, over a session that no error leaves in a transaction."""
    idle = SimpleNamespace(transaction_status=TransactionStatus.IDLE)
    connection = cast("Connection", SimpleNamespace(info=idle))
    asked = SchedulerSettings(database_url="postgresql://nowhere/none", lease_seconds=60.0)
    lease = LeaderLease(connection, asked, epoch=1, began=monotonic())
    made = PeriodicThread("aside", connection, lease, _Nobody(), tasks, failed=failed.put)
    try:
        yield made, lease
        assert not lease.over.is_set(), lease.reason
    finally:
        lease.end("the test is over")
        made.join()


def said(by: SimpleQueue[str], lease: LeaderLease) -> str:
    """Wait for the next name; the end of the term ends the test."""
    over = monotonic() + _SECONDS
    while True:
        try:
            return by.get(timeout=_POLL_SECONDS)
        except Empty:
            assert not lease.over.is_set(), lease.reason
            assert monotonic() < over


@given(st.lists(_TURNS, min_size=1, max_size=12))
def test_a_task_that_fails_in_any_way_is_done_again_and_so_are_the_others(
    turns: list[Turn],
) -> None:
    """And each failure is counted."""
    outcomes = SimpleQueue[type[Exception] | None]()
    ran, failed = SimpleQueue[str](), SimpleQueue[str]()

    def do(name: str) -> bool:
        fault = outcomes.get_nowait()
        ran.put(name)
        if fault is not None:
            raise fault(f"{name} failed")
        return False

    tasks = [PeriodicTask(name, _HOUR, partial(do, name), at_once=False) for name in _NAMES]
    with thread_of(tasks, failed) as (thread, lease):
        for name, fault in turns:
            outcomes.put(fault)
            thread.call(name)
            assert name == said(ran, lease)
            if fault is not None:
                assert name == said(failed, lease)
