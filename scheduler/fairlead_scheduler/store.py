"""What the loop reads and writes: two round trips per look and one per dispatch.

A look sends its reads down one pipeline. Columns of many rows come back as arrays, which cost a
tenth of as many rows.
"""

import json
from collections.abc import Sequence
from itertools import repeat

from psycopg import Cursor
from psycopg.rows import args_row, scalar_row

from fairlead import sql
from fairlead.policy.concurrency import KEYS_MAX
from fairlead.sql import integers
from fairlead.store import Connection
from fairlead_scheduler.explain import Question
from fairlead_scheduler.homes import SETTINGS, Timeouts
from fairlead_scheduler.keys import Trait
from fairlead_scheduler.rates import Used
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.tail import Probe
from fairlead_scheduler.values import PlannedRow, Want
from fairlead_scheduler.views import (
    Ask,
    Fill,
    Lanes,
    Observed,
    Queued,
    Receipt,
    Row,
    View,
    Worker,
)

_PACKAGE = __package__ or ""


class Store:
    """The statements of the loop over its session; each autocommits."""

    def __init__(
        self, connection: Connection, settings: SchedulerSettings, *, epoch: int
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        cursor = connection.cursor
        self._glance: Cursor[bool] = cursor(binary=True, row_factory=scalar_row)
        self._observe: Cursor[Observed] = cursor(binary=True, row_factory=args_row(Observed))
        self._receipts: Cursor[Receipt] = cursor(binary=True, row_factory=args_row(Receipt))
        self._refill: Cursor[Fill] = cursor(binary=True, row_factory=args_row(Fill))
        self._probe: Cursor[Row] = cursor(binary=True, row_factory=args_row(Row))
        self._workers: Cursor[Worker] = cursor(binary=True, row_factory=args_row(Worker))
        self._traits: Cursor[list[str | None]] = cursor(binary=True, row_factory=scalar_row)
        self._questions: Cursor[Question] = cursor(binary=True, row_factory=args_row(Question))
        self._dispatch: Cursor[int] = cursor(binary=True, row_factory=scalar_row)

    def glance(self, last_id: int) -> bool:
        """Ask whether there is a job above this id."""
        return bool(self._glance.execute(_GLANCE, {"last_id": last_id}).fetchone())

    def look(self, ask: Ask) -> View:
        """Read what changed; receipts that are answered are gone.

        The receipts are no part of the pipeline: a process that is frozen in the middle of one
        leaves its locks to the server, and among them would be the leader's row.
        """
        limit = self._settings.sweep_max
        if ask.after_receipt is not None:
            taking = {"epoch": self._epoch, "after_id": ask.after_receipt, "limit": limit}
            self._receipts.execute(_RECEIPTS, taking)
        looking = {"last_id": ask.last_id, "lagging": ask.lagging, "limit": limit}
        if not (ask.wants or ask.probe is not None or ask.workers or ask.traits):
            self._observe.execute(_OBSERVE, looking)
        else:
            with self._connection.pipeline():
                self._observe.execute(_OBSERVE, looking)
                if ask.wants:
                    self._refill.execute(_REFILL, _streams(ask.wants))
                if ask.probe is not None:
                    self._probe.execute(_PROBE, _ranges(ask.probe, limit))
                if ask.traits:
                    self._traits.execute(_TRAITS, _values(ask.traits))
                if ask.workers:
                    self._workers.execute(_WORKERS)
        return self._view(ask, limit)

    def _view(self, ask: Ask, limit: int) -> View:
        """Fetch what a look has asked for."""
        observed = self._observe.fetchone()
        assert observed is not None
        found = [] if ask.probe is None else self._probe.fetchall()
        return View(
            observed=observed,
            receipts=[] if ask.after_receipt is None else sorted(self._receipts.fetchall()),
            fills=self._refill.fetchall() if ask.wants else [],
            found=found,
            probed_all=len(found) < limit,
            workers=self._workers.fetchall() if ask.workers else None,
            texts=self._traits.fetchall()[0] if ask.traits else (),
        )

    def open_bands(self, pool: str, bands: int) -> None:
        """See that a pool's workers look at so many bands; nothing when deposed."""
        parameters = {"epoch": self._epoch, "pool": pool, "bands": bands}
        self._connection.execute(sql.load(_PACKAGE, "open_bands"), parameters)

    def dispatch(
        self,
        jobs: Sequence[PlannedRow],
        floor: int,
        used: Sequence[Used] = (),
        *,
        band: int = 0,
        pool: str | None = None,
        timeouts: Timeouts = SETTINGS,
    ) -> set[int]:
        """Move jobs into `work_queue`; answers the ids that it took, none when deposed.

        Args:
            jobs: In the order of their ids.
            floor: Of the band.
            used: What is used of rates then.
            band: Where the jobs go.
            pool: Whose workers take them; None: those of the settings' pool.
            timeouts: The pool's; what they do not say, the settings do.
        """
        settings = self._settings
        default = timeouts.default_seconds or settings.timeout_default_seconds
        most = timeouts.max_seconds or settings.timeout_max_seconds
        ids, vtags, estimates_us, seen_us = zip(*jobs, strict=True) if jobs else repeat((), 4)
        parameters = {
            "epoch": self._epoch,
            "pool": pool or settings.pool,
            "band": band,
            "floor": floor,
            "timeout_default": f"{default} s",
            "timeout_max": f"{most} s",
            "ids": integers(ids),
            "vtags": integers(vtags),
            "estimates_us": integers(estimates_us),
            "seen_us": integers(seen_us),
            "used": _windows(used),
        }
        self._dispatch.execute(_DISPATCH, parameters)
        if self._dispatch.rowcount == len(ids):
            # Reading so many rows one by one was 4 % of a busy leader's processor time.
            return set(ids)
        return set(self._dispatch.fetchall())

    def questions(self) -> list[Question]:
        """Read what people ask about pending jobs."""
        return self._questions.execute(_QUESTIONS, {"limit": _QUESTIONS_MAX}).fetchall()

    def explain(self, answers: Sequence[tuple[int, str]]) -> None:
        """Answer questions, each by its id and as JSON; nothing when deposed."""
        ids, texts = zip(*answers, strict=True)
        told = {"epoch": self._epoch, "ids": integers(ids), "answers": list(texts)}
        self._connection.execute(_EXPLAIN, told)

    def rest(self) -> bool:
        """Ask every INSERT to notify us; whether nobody else had asked for it."""
        row = self._connection.execute(sql.load(_PACKAGE, "rest")).fetchone()
        return row == (True,)

    def busy(self) -> None:
        """Ask that no INSERT notifies us any more."""
        self._connection.execute(sql.load(_PACKAGE, "busy"))

    def heed_endings(self) -> bool:
        """Ask every ending to notify us; whether nobody else had asked for it."""
        row = self._connection.execute(sql.load(_PACKAGE, "heed_endings")).fetchone()
        return row == (True,)

    def ignore_endings(self) -> None:
        """Ask that no ending notifies us any more."""
        self._connection.execute(sql.load(_PACKAGE, "ignore_endings"))

    def wake(self, workers: Sequence[int]) -> None:
        """Tell these workers, or everybody if there are none, that there is work."""
        named = ",".join(map(str, workers))
        self._connection.execute(sql.load(_PACKAGE, "wake"), {"workers": named})


def read_newest(connection: Connection) -> int:
    """Return the largest id of `jobs` that is visible; 0 without one."""
    row = connection.execute(sql.load(_PACKAGE, "newest")).fetchone()
    return int(str(row[0])) if row else 0


def read_queued(connection: Connection) -> Queued:
    """Read all of `work_queue`."""
    cursor: Cursor[Queued] = connection.cursor(binary=True, row_factory=args_row(Queued))
    queued = cursor.execute(_QUEUED).fetchone()
    assert queued is not None
    return queued


def read_lanes(connection: Connection) -> Lanes:
    """Read the first and the last pending job of every stream."""
    cursor: Cursor[Lanes] = connection.cursor(binary=True, row_factory=args_row(Lanes))
    lanes = cursor.execute(sql.load(_PACKAGE, "lanes")).fetchone()
    assert lanes is not None
    return lanes


def read_used(connection: Connection) -> list[Used]:
    """Read what is used of rates."""
    cursor: Cursor[Used] = connection.cursor(binary=True, row_factory=args_row(Used))
    return cursor.execute(sql.load(_PACKAGE, "rates")).fetchall()


_GLANCE = sql.load(_PACKAGE, "glance")
_OBSERVE = sql.load(_PACKAGE, "observe")
_RECEIPTS = sql.load(_PACKAGE, "receipts")
_REFILL = sql.load(_PACKAGE, "refill")
_PROBE = sql.load(_PACKAGE, "probe")
_TRAITS = sql.load(_PACKAGE, "traits")
_TRAITS_BYTES_MAX = 1 << 20
"""Read in 5 ms as a rule, and in 70 when all of it is one letter, compressed."""
_WORKERS = sql.load(_PACKAGE, "workers")
_QUEUED = sql.load(_PACKAGE, "queued")
_QUESTIONS = sql.load(_PACKAGE, "questions")
_EXPLAIN = sql.load(_PACKAGE, "explain")
_QUESTIONS_MAX = 100
_DISPATCH = sql.load(_PACKAGE, "dispatch")


def _streams(wants: Sequence[Want]) -> dict[str, object]:
    return {
        "queues": [want.stream[0] for want in wants],
        "tenants": [want.stream[1] for want in wants],
        "ranks": integers(want.stream[2] for want in wants),
        "after_seqs": integers(want.after_seq for want in wants),
        "counts": integers(want.limit for want in wants),
    }


def _values(traits: Sequence[Trait]) -> dict[str, object]:
    return {
        "ids": integers(trait.job_id for trait in traits),
        "roots": [trait.root for trait in traits],
        "paths": [trait.path for trait in traits],
        "bytes_max": _TRAITS_BYTES_MAX,
        "least": KEYS_MAX + 1,
    }


def _windows(used: Sequence[Used]) -> str | None:
    """Write as JSON what is used of rates; None for nothing."""
    rows = [
        {"queue": queue, "tenant": tenant, "per_us": per_us, "tat_us": empty_us}
        for queue, tenant, per_us, empty_us, _ in used
    ]
    return json.dumps(rows) if rows else None


def _ranges(probe: Probe, limit: int) -> dict[str, object]:
    return {
        "lows": integers((*probe.lows, *probe.ids)),
        "highs": integers((*probe.highs, *probe.ids)),
        "limit": limit,
    }
