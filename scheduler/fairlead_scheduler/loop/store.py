"""The loop's statements: two round trips per tick and one per dispatch.

A tick sends its reads down one pipeline. Columns of many rows come back as arrays, which cost a
tenth of as many rows.
"""

import json
from collections.abc import Sequence
from itertools import repeat

from psycopg import Cursor
from psycopg.rows import args_row, scalar_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead.policy.concurrency import KEYS_MAX
from fairlead_scheduler.explain.answer import Question
from fairlead_scheduler.limits.concurrency_keys import AttributeRequest
from fairlead_scheduler.limits.kind_limits import CountedKinds, KindLimit, LimitedJob
from fairlead_scheduler.ordering.levels.order_tags import (
    TAG_MAX,
    TAG_RENUMBERED,
    TAGS_AHEAD_MAX,
)
from fairlead_scheduler.ordering.plan import PlannedRow
from fairlead_scheduler.pending.tail import NO_PROBE, Probe
from fairlead_scheduler.pending.values import HeadRequest
from fairlead_scheduler.policy.gcra import WindowUsage
from fairlead_scheduler.policy.pool_routing import SETTINGS, Timeouts
from fairlead_scheduler.rows import (
    HeadFill,
    LaneRows,
    Observed,
    ProbedJob,
    QueuedRows,
    ReadRequest,
    Receipt,
    Renumbered,
    TickView,
    Worker,
)
from fairlead_scheduler.settings import SchedulerSettings

_PACKAGE = __package__ or ""
_NOTHING_COUNTED = CountedKinds()


class LoopStore:
    """The statements of the loop over its session; each autocommits."""

    def __init__(
        self, connection: Connection, settings: SchedulerSettings, *, epoch: int
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        cursor = connection.cursor
        self._new_jobs: Cursor[bool] = cursor(binary=True, row_factory=scalar_row)
        self._observe: Cursor[Observed] = cursor(binary=True, row_factory=args_row(Observed))
        self._receipts: Cursor[Receipt] = cursor(binary=True, row_factory=args_row(Receipt))
        self._refill: Cursor[HeadFill] = cursor(binary=True, row_factory=args_row(HeadFill))
        self._probe: Cursor[ProbedJob] = cursor(binary=True, row_factory=args_row(ProbedJob))
        self._doubtful: Cursor[ProbedJob] = cursor(binary=True, row_factory=args_row(ProbedJob))
        self._workers: Cursor[Worker] = cursor(binary=True, row_factory=args_row(Worker))
        self._kind_limits: Cursor[KindLimit] = cursor(
            binary=True, row_factory=args_row(KindLimit)
        )
        self._limited_kinds: Cursor[LimitedJob] = cursor(
            binary=True, row_factory=args_row(LimitedJob)
        )
        self._job_attributes: Cursor[list[str | None]] = cursor(
            binary=True, row_factory=scalar_row
        )
        self._questions: Cursor[Question] = cursor(binary=True, row_factory=args_row(Question))
        self._dispatch: Cursor[int] = cursor(binary=True, row_factory=scalar_row)

    def has_jobs_above(self, last_id: int) -> bool:
        """Return whether there is a job above this id."""
        return bool(self._new_jobs.execute(_NEW_JOBS, {"last_id": last_id}).fetchone())

    def observe(self, request: ReadRequest) -> TickView:
        """Read what changed; receipts that are returned are deleted.

        What locks is not part of the pipeline: a process that freezes in the middle of one
        leaves its locks in the server, the leader's row and jobs among them.
        """
        limit = self._settings.sweep_max
        if request.after_receipt is not None:
            taking = {"epoch": self._epoch, "after_id": request.after_receipt, "limit": limit}
            self._receipts.execute(_RECEIPTS, taking)
        probe = request.probe or NO_PROBE
        if probe.ids:
            kinds = sorted({each.kind for each in request.kind_limits})
            doubtful = {"ids": integers(sorted(probe.ids)), "kinds": kinds}
            self._doubtful.execute(_DOUBTFUL, doubtful)
        observing = {
            "last_id": request.last_id,
            "lagging": request.lagging,
            "drawn": request.drawn,
            "limit": limit,
        }
        rest = request.workers or request.attributes or request.counts_kinds
        if not (request.wants or probe.lows or rest):
            self._observe.execute(_OBSERVE, observing)
        else:
            with self._connection.pipeline():
                self._observe.execute(_OBSERVE, observing)
                if request.wants:
                    self._refill.execute(_REFILL, _streams(request.wants))
                if probe.lows:
                    self._probe.execute(_PROBE, _ranges(probe, limit))
                if request.attributes:
                    self._job_attributes.execute(_JOB_ATTRIBUTES, _values(request.attributes))
                if request.workers:
                    self._workers.execute(_WORKERS)
                    self._kind_limits.execute(_KIND_LIMITS, _limits_of(request.pools))
                if request.counts_kinds:
                    self._limited_kinds.execute(_LIMITED_KINDS, _limited(request.kind_limits))
        return self._view(request, probe, limit)

    def _view(self, request: ReadRequest, probe: Probe, limit: int) -> TickView:
        """Fetch the results of a tick's reads."""
        observed = self._observe.fetchone()
        assert observed is not None
        found = self._probe.fetchall() if probe.lows else []
        doubtful = self._doubtful.fetchall() if probe.ids else []
        return TickView(
            observed=observed,
            receipts=[] if request.after_receipt is None else sorted(self._receipts.fetchall()),
            fills=self._refill.fetchall() if request.wants else [],
            found=found + doubtful,
            probed_all=len(found) < limit,
            workers=self._workers.fetchall() if request.workers else None,
            texts=self._job_attributes.fetchall()[0] if request.attributes else (),
            kind_limits=self._kind_limits.fetchall() if request.workers else None,
            limited=self._limited_kinds.fetchall() if request.counts_kinds else None,
        )

    def open_bands(self, pool: str, bands: int) -> None:
        """Let a pool's workers claim from so many bands; does nothing when deposed."""
        parameters = {"epoch": self._epoch, "pool": pool, "bands": bands}
        self._connection.execute(statements.load(_PACKAGE, "open_bands"), parameters)

    def dispatch(
        self,
        jobs: Sequence[PlannedRow],
        floor: int,
        used: Sequence[WindowUsage] = (),
        *,
        band: int = 0,
        pool: str | None = None,
        timeouts: Timeouts = SETTINGS,
        counted: CountedKinds = _NOTHING_COUNTED,
        woken: Sequence[int] = (),
    ) -> set[int]:
        """Move jobs into `work_queue`; returns the ids that it took, none when deposed.

        Args:
            jobs: In the order of their ids.
            floor: The band's new floor.
            used: The use of rates after this dispatch.
            band: The band that the jobs go to.
            pool: The pool whose workers claim them; None: the settings' pool.
            timeouts: The pool's time limits; the settings' apply where they are None.
            counted: The kinds that are limited in the pool, and the jobs that count for them.
            woken: Workers that are notified at the commit.
        """
        settings = self._settings
        default = timeouts.default_seconds or settings.timeout_default_seconds
        most = timeouts.max_seconds or settings.timeout_max_seconds
        ids, vtags, estimates_us, seen_us = zip(*jobs, strict=True) if jobs else repeat((), 4)
        parameters = {
            "epoch": self._epoch,
            "pool": pool or settings.pool,
            "band": band,
            "floor": min(floor, TAG_MAX),
            "timeout_default": f"{default} s",
            "timeout_max": f"{most} s",
            "ids": integers(ids),
            "vtags": integers(min(vtag, TAG_MAX) for vtag in vtags),
            "estimates_us": integers(estimates_us),
            "seen_us": integers(seen_us),
            "used": _windows(used),
            "kinds": list(counted.kinds) or None,
            "counted": integers(counted.ids),
            "workers": _lists(woken),
        }
        self._dispatch.execute(_DISPATCH, parameters)
        if self._dispatch.rowcount == len(ids):
            # Reading so many rows one by one was 4 % of a busy leader's processor time.
            return set(ids)
        return set(self._dispatch.fetchall())

    def lower_floor(self, pool: str, band: int, floor: int) -> None:
        """Lower a band's floor to this tag, if it is higher; does nothing when deposed."""
        parameters = {"epoch": self._epoch, "pool": pool, "band": band, "floor": floor}
        self._connection.execute(statements.load(_PACKAGE, "lower_floor"), parameters)

    def raise_tags(self, ids: Sequence[int], by: int) -> set[int]:
        """Raise the tags of unclaimed rows; returns the ids of those that it raised.

        A repeat raises them again. It does nothing when deposed.
        """
        parameters = {"epoch": self._epoch, "ids": integers(ids), "by": by, "largest": TAG_MAX}
        return set(self._dispatch.execute(_RAISE_TAGS, parameters).fetchall())

    def hold_to_limits(self, limits: Sequence[KindLimit]) -> None:
        """Tell workers that these limits of kinds hold; does nothing when deposed."""
        told = {
            "epoch": self._epoch,
            "limits": integers(each.limit for each in limits),
            "most": max(_TOLD_LEAST, _TOLD_MAX // len(limits)),
        }
        statement = statements.load(_PACKAGE, "hold_to_limits")
        self._connection.execute(statement, {**_limited(limits), **told})

    def questions(self) -> list[Question]:
        """Read the unanswered questions about jobs."""
        return self._questions.execute(_QUESTIONS, {"limit": _QUESTIONS_MAX}).fetchall()

    def explain(self, answers: Sequence[tuple[int, str]]) -> None:
        """Answer questions, each by its id and as JSON; does nothing when deposed."""
        ids, texts = zip(*answers, strict=True)
        answered = {
            "epoch": self._epoch,
            "ids": integers(ids),
            "answers": list(texts),
            "forget_max": _FORGET_MAX,
        }
        self._connection.execute(_EXPLAIN, answered)

    def notify_inserts(self, *, wanted: bool) -> None:
        """Have every INSERT notify the leader, or none any more; does nothing when deposed."""
        self._switch("notify_inserts", wanted=wanted)

    def notify_endings(self, *, wanted: bool) -> None:
        """Have every ending notify the leader, or none any more; does nothing when deposed."""
        self._switch("notify_endings", wanted=wanted)

    def _switch(self, statement: str, *, wanted: bool) -> None:
        parameters = {"epoch": self._epoch, "wanted": wanted}
        self._connection.execute(statements.load(_PACKAGE, statement), parameters)

    def wake_all(self) -> bool:
        """Notify all workers that there is work.

        Returns whether the server had room for it. Else they find the work by themselves.
        """
        sent = self._connection.execute(statements.load(_PACKAGE, "wake_all"))
        return sent.fetchone() == (True,)


def renumber(connection: Connection, *, epoch: int) -> list[Renumbered]:
    """Renumber large order tags from 0 on, in the same order; returns where it did.

    Call it between a take-over and the read of `work_queue`. It does nothing when deposed, and
    a repeat changes nothing. Rows that are locked keep their tags, and so do those behind many
    others: the leader recalls them.
    """
    cursor = connection.cursor(row_factory=args_row(Renumbered))
    parameters = {
        "epoch": epoch,
        "large": TAG_RENUMBERED,
        "ahead_max": TAGS_AHEAD_MAX,
        "limit": _RENUMBERED_MAX,
    }
    return cursor.execute(statements.load(_PACKAGE, "renumber"), parameters).fetchall()


def read_newest(connection: Connection) -> int:
    """Return the largest id of `jobs` that is visible; 0 without one."""
    row = connection.execute(statements.load(_PACKAGE, "newest")).fetchone()
    return int(str(row[0])) if row else 0


def read_queued(connection: Connection) -> QueuedRows:
    """Read all of `work_queue`."""
    cursor: Cursor[QueuedRows] = connection.cursor(
        binary=True, row_factory=args_row(QueuedRows)
    )
    queued = cursor.execute(_QUEUED).fetchone()
    assert queued is not None
    return queued


def read_lanes(connection: Connection) -> LaneRows:
    """Read the first and the last pending job of every stream."""
    cursor: Cursor[LaneRows] = connection.cursor(binary=True, row_factory=args_row(LaneRows))
    lanes = cursor.execute(statements.load(_PACKAGE, "lanes")).fetchone()
    assert lanes is not None
    return lanes


def read_used(connection: Connection) -> list[WindowUsage]:
    """Read how much of each rate is used."""
    cursor: Cursor[WindowUsage] = connection.cursor(
        binary=True, row_factory=args_row(WindowUsage)
    )
    return cursor.execute(statements.load(_PACKAGE, "rates")).fetchall()


_NEW_JOBS = statements.load(_PACKAGE, "new_jobs")
_OBSERVE = statements.load(_PACKAGE, "observe")
_RECEIPTS = statements.load(_PACKAGE, "receipts")
_REFILL = statements.load(_PACKAGE, "refill")
_PROBE = statements.load(_PACKAGE, "probe")
_DOUBTFUL = statements.load(_PACKAGE, "doubtful")
_JOB_ATTRIBUTES = statements.load(_PACKAGE, "job_attributes")
_ATTRIBUTES_BYTES_MAX = 1 << 20
"""Read in 5 ms as a rule, and in 70 when all of it is one letter, compressed."""
_WORKERS = statements.load(_PACKAGE, "workers")
_KIND_LIMITS = statements.load(_PACKAGE, "kind_limits")
_KIND_LIMITS_MAX, _KIND_LIMITS_LEAST = 1000, 50
"""Kinds in all pools together, and in each in any case: one pool takes no part of another's."""
_LOOKED_MAX = 64
"""Rows of workers that are looked at for one that is live."""
_TOLD_MAX, _TOLD_LEAST = 5000, 10
_LIMITED_KINDS = statements.load(_PACKAGE, "limited_kinds")
_QUEUED = statements.load(_PACKAGE, "queued")
_QUESTIONS = statements.load(_PACKAGE, "questions")
_EXPLAIN = statements.load(_PACKAGE, "explain")
_QUESTIONS_MAX = 100
_FORGET_MAX = 1000
_NAMED_MAX = 350
"""Workers in one notification: a payload has less than 8,000 bytes, and an id 19 digits."""
_PLACE_LAST = (1 << 63) - 1
_RENUMBERED_MAX = 20_000
"""Lowered in 0.6 s on a busy machine, during which no renewal of the lease gets through."""
_DISPATCH = statements.load(_PACKAGE, "dispatch")
_RAISE_TAGS = statements.load(_PACKAGE, "raise_tags")


def _limits_of(pools: Sequence[str]) -> dict[str, object]:
    most = max(_KIND_LIMITS_LEAST, _KIND_LIMITS_MAX // max(1, len(pools)))
    return {"pools": list(pools), "limit": most, "looked": _LOOKED_MAX}


def _streams(wants: Sequence[HeadRequest]) -> dict[str, object]:
    return {
        "queues": [want.stream[0] for want in wants],
        "tenants": [want.stream[1] for want in wants],
        "ranks": integers(want.stream[2] for want in wants),
        "from_seqs": integers(min(want.after_seq + 1, _PLACE_LAST) for want in wants),
        # Behind the last place of all there is nothing.
        "counts": integers(want.limit * (want.after_seq < _PLACE_LAST) for want in wants),
    }


def _values(attributes: Sequence[AttributeRequest]) -> dict[str, object]:
    return {
        "ids": integers(each.job_id for each in attributes),
        "roots": [each.root for each in attributes],
        "paths": [each.path for each in attributes],
        "bytes_max": _ATTRIBUTES_BYTES_MAX,
        "least": KEYS_MAX + 1,
    }


def _limited(limits: Sequence[KindLimit]) -> dict[str, object]:
    return {"pools": [each.pool for each in limits], "kinds": [each.kind for each in limits]}


def _lists(workers: Sequence[int]) -> list[str]:
    """Return workers in lists, each of which a notification holds."""
    firsts = range(0, len(workers), _NAMED_MAX)
    return [",".join(map(str, workers[first : first + _NAMED_MAX])) for first in firsts]


def _windows(used: Sequence[WindowUsage]) -> str | None:
    """Return the use of rates as JSON; None if there is none."""
    rows = [
        {"queue": queue, "tenant": tenant, "per_us": per_us, "tat_us": empty_us}
        for queue, tenant, per_us, empty_us, _ in used
    ]
    return json.dumps(rows) if rows else None


def _ranges(probe: Probe, limit: int) -> dict[str, object]:
    return {
        "lows": integers(probe.lows),
        "highs": integers(probe.highs),
        "limit": limit,
    }
