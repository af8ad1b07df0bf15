"""What the leader's statements read in the simulated database, each by its name."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.simulation.database import Database, Row

Values = Mapping[str, Any]
Rows = list[tuple[object, ...]]


def integers(text: str) -> list[int]:
    """Return the numbers of an array literal."""
    return [int(each) for each in text[1:-1].split(",")] if len(text) > 2 else []


@dataclass(slots=True)
class Reads:
    """The statements that write nothing, over one database; taking receipts is one of them."""

    database: Database

    def run_new_jobs(self, values: Values) -> Rows:
        """Say whether there is a job above an id."""
        ids = self.database.ids
        return [(bool(ids) and ids[-1] > values["last_id"],)]

    def run_newest(self, _: Values) -> Rows:
        """Find the largest id."""
        return [(self.database.ids[-1] if self.database.ids else 0,)]

    def run_observe(self, values: Values) -> Rows:
        """Read the new rows above an id."""
        database = self.database
        start = bisect_right(database.ids, values["last_id"])
        fresh = [database.jobs[i] for i in database.ids[start : start + values["limit"]]]
        due = [row.run_at_us for row in fresh if row.run_at_us is not None]
        hints = [row.hint_us for row in fresh]
        paused = sorted(database.paused, key=repr)
        return [
            (
                database.now_us,
                database.xmin,
                database.next_xid,
                [queue for queue, _ in paused] or None,
                [tenant for _, tenant in paused] or None,
                database.ids[-1] if values["lagging"] and database.ids else None,
                [row.id for row in fresh] or None,
                [row.seq for row in fresh],
                [row.queue for row in fresh],
                [row.tenant for row in fresh],
                [row.rank if row.run_at_us is None else None for row in fresh],
                hints if any(hint is not None for hint in hints) else None,
                min(due, default=None),
                None,
            )
        ]

    def run_receipts(self, values: Values) -> Rows:
        """Take receipts above an id."""
        database = self.database
        ids = sorted(i for i in database.receipts if i > values["after_id"])
        if not database.holds(values["epoch"]):
            return []
        taken = [database.receipts.pop(i) for i in ids[: values["limit"]]]
        return [
            (
                *(x.id, x.at_us, x.worker, x.claimed, x.ended, x.run_us, x.returned),
                *(*[None] * 5, x.moved),
            )
            for x in taken
        ]

    def run_refill(self, values: Values) -> Rows:
        """Read the next jobs of each stream."""
        streams = zip(
            values["queues"], values["tenants"], integers(values["ranks"]), strict=True
        )
        wanted = zip(
            streams, integers(values["from_seqs"]), integers(values["counts"]), strict=True
        )
        found: Rows = []
        for place, (stream, from_seq, count) in enumerate(wanted, start=1):
            line = self.database.lines.get(stream, [])
            start = bisect_left(line, (from_seq, 0))
            rows = [self.database.jobs[i] for _, i in line[start : start + count]]
            hints = [row.hint_us for row in rows]
            found.append(
                (
                    place,
                    [row.id for row in rows] or None,
                    [row.seq for row in rows],
                    hints if any(hint is not None for hint in hints) else None,
                )
            )
        return found

    def run_probe(self, values: Values) -> Rows:
        """Read what there is in ranges of ids, and not in `work_queue`."""
        ids = self.database.ids
        found: Rows = []
        for low, high in zip(integers(values["lows"]), integers(values["highs"]), strict=True):
            for job_id in ids[bisect_left(ids, low) : bisect_right(ids, high)]:
                if job_id not in self.database.work:
                    found.append((*self._found(job_id), False, None))
        return found[: values["limit"]]

    def run_doubtful(self, values: Values) -> Rows:
        """Read these jobs, and which of them are locked."""
        database = self.database
        here = [i for i in integers(values["ids"]) if i in database.jobs]
        return [
            (*self._found(i), database.jobs[i].lock is not None, None)
            for i in here
            if i not in database.work
        ]

    def _found(self, job_id: int) -> tuple[object, ...]:
        row = self.database.jobs[job_id]
        return (row.id, row.seq, *row.stream, row.hint_us, row.run_at_us)

    def run_job_attributes(self, values: Values) -> Rows:
        """Read what keys look at."""
        asked = zip(integers(values["ids"]), values["roots"], values["paths"], strict=True)
        jobs = self.database.jobs
        texts = [
            jobs[i].fields.get(f"{root}.{path}") if i in jobs else None
            for i, root, path in asked
        ]
        return [(texts,)]

    def run_workers(self, _: Values) -> Rows:
        """Read the live workers."""
        return [
            (each.id, 0 if each.draining else each.slots, each.pool, 0, True)
            for each in self.database.workers.values()
            if not each.dead and each.lease_until_us > self.database.now_us
        ]

    def run_kind_limits(self, _: Values) -> Rows:
        """Find no limits of kinds."""
        return []

    def run_lanes(self, _: Values) -> Rows:
        """Read the first job of every stream that is not in `work_queue`, and its last."""
        database = self.database
        found: list[tuple[Row, Row]] = []
        for stream in sorted(database.lines):
            line = database.lines[stream]
            first = next((i for _, i in line if i not in database.work), None)
            if first is not None:
                found.append((database.jobs[first], database.jobs[line[-1][1]]))
        return [
            (
                database.now_us,
                [first.id for first, _ in found] or None,
                [first.seq for first, _ in found],
                [first.queue for first, _ in found],
                [first.tenant for first, _ in found],
                [first.rank for first, _ in found],
                [database.now_us for _ in found],
                [last.id for _, last in found],
                [last.seq for _, last in found],
                sorted(database.open_transactions) or None,
                database.next_xid,
            )
        ]

    def run_queued(self, _: Values) -> Rows:
        """Read all of `work_queue`."""
        database = self.database
        rows = [database.work[job_id] for job_id in sorted(database.work)]
        floors = sorted(database.floors)
        return [
            (
                database.now_us,
                [band for _, band in floors] or None,
                [database.floors[each] for each in floors],
                [row.id for row in rows] or None,
                [row.queue for row in rows],
                [row.tenant for row in rows],
                [row.vtag for row in rows],
                [row.estimate_us for row in rows],
                [row.claimed_at_us for row in rows],
                [row.worker for row in rows],
                [row.band for row in rows],
                [row.pool for row in rows],
                [pool for pool, _ in floors] or None,
            )
        ]

    def run_rates(self, _: Values) -> Rows:
        """Read what rates have used."""
        used = self.database.used
        return [(queue, tenant, per, tat) for (_, queue, tenant, per), tat in used.items()]

    def run_policies(self, values: Values) -> Rows:
        """Read the newest policies."""
        before = values["before"] or len(self.database.policies) + 1
        versions = range(before - 1, values["after"], -1)
        none: list[str] = []
        rows: Rows = [(v, self.database.policies[v - 1], none) for v in versions]
        return rows[: values["limit"]]

    def run_questions(self, _: Values) -> Rows:
        """Find that nobody asks."""
        return []
