"""Several pools in memory, for tests that follow the decisions of a leader over all of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fairlead.policy import parse
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import Head, PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.policy.gcra import WindowUsage

MS = 1000
TICK_US = 10 * MS


def table(document: str) -> CompiledPolicy:
    """Return the table of a policy's document, without slots kept for short jobs."""
    found = compile_policy(parse(document), stored=1)
    return replace(found, settings=replace(found.settings, short=None))


class Fleets:
    """A leader over pools whose workers claim and end jobs when the test says so.

    Args:
        document: The policy.
        slots: Of each pool's workers.
        depth: How many rows may wait in each pool.
    """

    def __init__(self, document: str, slots: Mapping[str, int], *, depth: int = 100) -> None:
        self.slots = slots
        self.depth = depth
        self.now_us = 1_000_000
        self.queues: dict[int, str] = {}
        self.work: dict[int, str] = {}
        """The pools of the rows of `work_queue`."""
        self.rows: dict[int, QueueRow] = {}
        self.running: list[int] = []
        self.ended: list[int] = []
        self.dispatched = Counter[str]()
        self.used: dict[tuple[str, str | None, int], WindowUsage] = {}
        self._lead(table(document))

    def _lead(self, terms: CompiledPolicy) -> None:
        self.order = Router("default", terms)
        rows = [
            row._replace(claimed_us=self.now_us if job in self.running else None)
            for job, row in self.rows.items()
        ]
        self.order.adopt(rows, self.now_us, {}, self.used.values())
        self.heads = Heads(in_flight=self.order.in_flight)
        self.heads.record_scan()
        pending = self.queues.keys() - self.work.keys() - set(self.ended)
        self.heads.discovered([self._found(job) for job in sorted(pending)])

    def fail_over(self) -> None:
        """Let another leader take over."""
        self._lead(self.order.table)

    def _found(self, job: int) -> PendingJob:
        return PendingJob(job, job, self.queues[job], "t", 0, 100 * MS, self.now_us)

    def add(self, queue: str, count: int) -> list[int]:
        """Insert jobs, and return their ids."""
        first = len(self.queues) + 1
        ids = list(range(first, first + count))
        self.queues.update(dict.fromkeys(ids, queue))
        self.heads.discovered([self._found(job) for job in ids])
        return ids

    def plan(self) -> dict[str, list[int]]:
        """Read heads, plan and dispatch once; return the jobs by pools.

        What is in `work_queue` already, or gone, is refused, as the database does.
        """
        self.now_us += TICK_US
        for want in self.heads.next_requests(1000):
            jobs = [job for job, queue in self.queues.items() if queue == want.stream[0]]
            left = [job for job in jobs if job not in self.ended and job > want.after_seq]
            heads = [Head(job, job, 100 * MS, self.now_us) for job in left[: want.limit]]
            self.heads.filled(want.stream, heads, want.limit)
        sizes = {pool: PoolSize(slots, self.depth) for pool, slots in self.slots.items()}
        found: dict[str, list[int]] = {}
        for plan in self.order.plan(self.now_us, sizes, self.heads):
            for job, vtag, estimate_us, _ in plan.rows:
                if job in self.work or job in self.ended:
                    self.order.refused((job,), plan.pool)
                    continue
                queue, pool = self.queues[job], plan.pool
                self.work[job] = pool
                self.rows[job] = QueueRow(job, queue, "t", vtag, estimate_us, None, 0, pool)
                self.dispatched[queue] += 1
                found.setdefault(pool, []).append(job)
            self.used |= {each[:3]: each for each in plan.used}
        return found

    def apply(self, document: str) -> None:
        """Let another policy be in force."""
        self.order.apply(table(document), self.now_us)

    def recall(self) -> list[int]:
        """Take back the rows that may not wait any more; return them."""
        ids = [job for job in self.order.surplus_rows() if job not in self.running]
        self._leave(ids)
        unknown = self.order.recalled(ids, self.heads)
        self.heads.missed(self._found(job) for job in unknown)
        return ids

    def claim(self, pool: str, count: int) -> list[int]:
        """Let a pool's workers take jobs, and return them."""
        waiting = [job for job, at in self.work.items() if at == pool]
        ids = [job for job in waiting if job not in self.running][:count]
        self.running += ids
        self.order.claimed(ids, self.now_us)
        return ids

    def give_back(self, ids: Sequence[int]) -> None:
        """Let workers hand back jobs that run."""
        self.running = [job for job in self.running if job not in ids]
        self.order.returned(ids, self.now_us)

    def end(self, ids: Iterable[int]) -> None:
        """Let jobs that run end."""
        ids = sorted(ids)
        self.running = [job for job in self.running if job not in ids]
        self.ended += ids
        self._leave(ids)
        self.order.ended(ids, [10 * MS] * len(ids))

    def _leave(self, ids: Iterable[int]) -> None:
        for job in ids:
            del self.work[job], self.rows[job]
