"""What comes in: attempts are made of claimed rows, and go where they are run or ended."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from time import monotonic_ns

from fairlead.job import Claimed
from fairlead.store import Connection
from fairlead.tasks import Handler
from fairlead_worker import outcome
from fairlead_worker.attempt import Attempt, Desk
from fairlead_worker.execute import Executor
from fairlead_worker.finish import Finisher
from fairlead_worker.keys import Key
from fairlead_worker.origins import Origins
from fairlead_worker.slots import Slots


def _nobody(_job: object) -> None:
    """Run nothing: the attempt ends without a handler."""


NOBODY = Handler(kind="", run=_nobody, runs_on="loop", timeout_seconds=None, concurrency=None)


class Sorted:
    """What is to run, what has ended without running, and rows whose jobs are gone."""

    def __init__(self) -> None:
        self.to_run: list[Attempt] = []
        self.ended: list[Attempt] = []
        self.orphans: list[Key] = []


class Sorter:
    """Makes attempts of claimed rows, and ends those at once that are not to run.

    Args:
        handlers: the application's, by kind.
        desk: takes what handlers report.
    """

    def __init__(self, handlers: Mapping[str, Handler], desk: Desk) -> None:
        self._handlers = {kind: _bounded(each) for kind, each in handlers.items()}
        self._desk = desk

    def sort(self, rows: Iterable[Claimed]) -> Sorted:
        """Sort a claimed batch."""
        now_us = monotonic_ns() // 1000
        found = Sorted()
        to_run = found.to_run
        handlers, desk = self._handlers, self._desk
        for row in rows:
            handler = handlers.get(row.kind)
            if handler is not None and row.doomed is None:
                attempt = Attempt(row, handler, desk, now_us)
                if row.alone:
                    attempt.where = "alone"
                to_run.append(attempt)
            elif row.doomed == "gone":
                found.orphans.append((row.job_id, row.token))
            else:
                found.ended.append(self._doomed(row, handler or NOBODY, now_us))
        return found

    def _doomed(self, row: Claimed, handler: Handler, now_us: int) -> Attempt:
        attempt = Attempt(row, handler, self._desk, now_us)
        match row.doomed:
            case "cancelled" | "expired" as stop:
                attempt.ending = outcome.unstarted(stop)
            case _:
                attempt.ending = outcome.unknown_kind(row.kind, tuple(self._handlers))
        return attempt


def _bounded(handler: Handler) -> Handler:
    """Bound handlers that take a process each by the processors, unless they say otherwise."""
    if handler.runs_on != "process" or handler.concurrency is not None:
        return handler
    return replace(handler, concurrency=os.cpu_count() or 1)


class Intake:
    """Where claimed rows go.

    Args:
        sorter: makes attempts of rows.
        slots: holds them.
        executor: runs them.
        finisher: writes the endings of those that do not run.
        origins: reads what their traces go by; None where there are no traces.
    """

    def __init__(
        self,
        sorter: Sorter,
        slots: Slots,
        executor: Executor,
        finisher: Finisher,
        *,
        origins: Origins | None,
    ) -> None:
        self._sorter = sorter
        self._slots = slots
        self._executor = executor
        self._finisher = finisher
        self._origins = origins

    def accept(
        self, connection: Connection, rows: Iterable[Claimed], *, alone: bool = False
    ) -> list[Key]:
        """Hold a claimed batch and have it run; return the rows whose jobs are gone.

        Rows that are to run alone go to the parent, unless this child is the one that is alone.
        The connection is the one on which they were claimed.
        """
        found = self._sorter.sort(rows)
        if self._origins is not None:
            self._origins.give(connection, found.to_run)
        for attempt in found.to_run if alone else ():
            attempt.where = attempt.handler.runs_on
        self._slots.take(found.to_run)
        self._slots.take(found.ended)
        if found.to_run:
            self._slots.ready.extend(found.to_run)
            self._executor.fill_soon()
        if found.ended:
            self._finisher.ended_many(found.ended)
        return found.orphans
