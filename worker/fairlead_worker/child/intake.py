"""The intake: makes attempts of claimed rows, and sends them to be run or to be ended."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from time import monotonic_ns

from fairlead.db.connect import Connection
from fairlead.job import Claimed
from fairlead.tasks import Handler
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.attempt import Attempt, ReportSink
from fairlead_worker.child.executor import Executor
from fairlead_worker.child.finisher import Finisher
from fairlead_worker.child.slots import Slots
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.source import Source
from fairlead_worker.tracing.origin_reader import OriginReader


def _no_handler(_job: object) -> None:
    """Run nothing: the attempt ends without a handler."""


NO_HANDLER = Handler(
    kind="", run=_no_handler, runs_on="loop", timeout_seconds=None, concurrency=None
)


class SortedClaims:
    """What is to run, what has ended without running, and rows whose jobs are gone."""

    def __init__(self) -> None:
        self.to_run: list[Attempt] = []
        self.ended: list[Attempt] = []
        self.orphans: list[Key] = []


class ClaimSorter:
    """Makes attempts of claimed rows, and ends those at once that are not to run.

    Args:
        handlers: the application's, by kind.
        sink: takes what handlers report.
    """

    def __init__(self, handlers: Mapping[str, Handler], sink: ReportSink) -> None:
        self._handlers = {kind: _bounded(each) for kind, each in handlers.items()}
        self._sink = sink
        self._quarantined: frozenset[Source] = frozenset()

    def quarantine(self, sources: Iterable[Source]) -> None:
        """Have further attempts of these sources, and of no others, run in quarantine."""
        self._quarantined = frozenset(sources)

    def in_processes(self, kinds: Iterable[str]) -> dict[str, Handler]:
        """Return handlers that run these kinds' coroutines in processes of their own."""
        return {
            kind: _bounded(replace(self._handlers[kind], runs_on="process"))
            for kind in kinds
            if kind in self._handlers
        }

    def sort(self, rows: Iterable[Claimed]) -> SortedClaims:
        """Sort a claimed batch."""
        now_us = monotonic_ns() // 1000
        found = SortedClaims()
        to_run = found.to_run
        handlers, sink, quarantined = self._handlers, self._sink, self._quarantined
        for row in rows:
            handler = handlers.get(row.kind)
            if handler is not None and row.doomed is None:
                attempt = Attempt(row, handler, sink, now_us)
                if row.alone or (quarantined and (row.kind, row.tenant) in quarantined):
                    attempt.where = "quarantine"
                to_run.append(attempt)
            elif row.doomed == "gone":
                found.orphans.append((row.job_id, row.token))
            else:
                found.ended.append(self._ending_at_once(row, handler or NO_HANDLER, now_us))
        return found

    def _ending_at_once(self, row: Claimed, handler: Handler, now_us: int) -> Attempt:
        attempt = Attempt(row, handler, self._sink, now_us)
        match row.doomed:
            case "cancelled" | "expired" as stop:
                attempt.ending = outcome.unstarted(stop)
            case _:
                attempt.ending = outcome.unknown_kind(row.kind, tuple(self._handlers))
        return attempt


def _bounded(handler: Handler) -> Handler:
    """Bound handlers that take a process each by the processors, unless they set a bound."""
    if handler.runs_on != "process" or handler.concurrency is not None:
        return handler
    return replace(handler, concurrency=os.cpu_count() or 1)


class Intake:
    """Where claimed rows go.

    Args:
        sorter: makes attempts of rows.
        slots: holds them.
        executor: runs them.
        finisher: stores the endings of those that do not run.
        origins: reads where their traces begin; None where there are no traces.
    """

    def __init__(
        self,
        sorter: ClaimSorter,
        slots: Slots,
        executor: Executor,
        finisher: Finisher,
        *,
        origins: OriginReader | None,
    ) -> None:
        self._sorter = sorter
        self._slots = slots
        self._executor = executor
        self._finisher = finisher
        self._origins = origins

    def accept(
        self, connection: Connection, rows: Iterable[Claimed], *, in_quarantine: bool = False
    ) -> list[Key]:
        """Hold a claimed batch and run it; return the rows whose jobs are gone.

        Suspect jobs go to the parent, unless this child is a quarantine process. The connection
        is the one on which they were claimed.
        """
        found = self._sorter.sort(rows)
        if self._origins is not None:
            self._origins.assign(connection, found.to_run)
        for attempt in found.to_run if in_quarantine else ():
            attempt.where = attempt.handler.runs_on
        self._slots.hold(found.to_run)
        self._slots.hold(found.ended)
        if found.to_run:
            self._slots.ready.extend(found.to_run)
            self._executor.fill_soon()
        if found.ended:
            self._slots.unhandled.claimed(found.ended)
            self._finisher.ended_many(found.ended)
        return found.orphans
