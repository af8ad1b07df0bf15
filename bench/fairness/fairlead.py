"""Fairlead's own order as a policy: the scheduler's code, with a trace in the database's place.

`FairOrder` and `Heads` are those of the product. What they would read from the database is
answered here: new jobs as the tail finds them, and refills behind the cursors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby

from bench.fairness.policy import Event, Row
from bench.fairness.trace import Arrival
from bench.fairness.weights import Weights, document
from fairlead.policy import Policy
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.policy import FairOrder
from fairlead_scheduler.terms import compiled
from fairlead_scheduler.values import Found, Head, Stream

_STREAMS_MAX = 1000
"""How many streams the leader refills in one look."""


class Fairlead:
    """The fair order with its heads."""

    def __init__(self, weights: Weights) -> None:
        self._order = FairOrder(
            "default", 0, compiled(Policy.model_validate(document(weights)))
        )
        self._heads = Heads(in_flight=self._order.in_flight, last_id=-1)
        self._heads.surveyed()
        self._streams: dict[Stream, list[int]] = {}
        """The jobs of each stream; a job's id is its place in the trace plus 1."""
        self._costs_us: dict[int, int] = {}

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Find the new jobs at the tail."""
        rows: list[Found] = []
        for place, job in jobs:
            job_id = place + 1
            self._streams.setdefault((job.queue, job.tenant, 0), []).append(job_id)
            self._costs_us[job_id] = job.cost_us
            rows.append(Found(job_id, job_id, job.queue, job.tenant, 0, None, now_us))
        self._heads.discovered(rows)

    def claimed(self, claims: Sequence[Event]) -> None:
        """Read the receipts of claims."""
        for at_us, group in groupby(claims, key=_at_us):
            self._order.claimed([job + 1 for job, _ in group], at_us)

    def ended(self, endings: Sequence[Event]) -> None:
        """Read the receipts of endings, with what they ran."""
        ids = [job + 1 for job, _ in endings]
        self._order.ended(ids, [self._costs_us.pop(job_id) for job_id in ids])

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Apply another policy, as a leader does between two looks."""
        self._order.apply(compiled(Policy.model_validate(document(weights))), now_us)

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[Row]:
        """Refill the heads and plan, as one look of the leader does."""
        for want in self._heads.wants(_STREAMS_MAX):
            stream = self._streams.get(want.stream, [])
            first = bisect_right(stream, want.after_seq)
            ids = stream[first : first + want.limit]
            heads = [Head(job_id, job_id, None, now_us) for job_id in ids]
            self._heads.filled(want.stream, heads, want.limit)
        depth = self._order.unclaimed + room
        plan = self._order.plan(now_us, slots, depth, self._heads)
        return [Row(job.vtag, job.id - 1) for job in plan.jobs]


def _at_us(event: Event) -> int:
    return event.at_us
