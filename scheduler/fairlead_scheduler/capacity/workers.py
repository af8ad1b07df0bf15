"""Which workers have free slots, by their claims and endings, and who counts the endings."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from itertools import repeat

_NO_WORKERS: Mapping[int, int] = {}


class Capacity:
    """The slots of live workers, and which worker holds which job.

    Unknown ids and workers are harmless: an event may be read before its worker is.
    """

    def __init__(self) -> None:
        self._pools: dict[str, dict[int, int]] = {}
        """The slots of live workers, by pools."""
        self._pool_of: dict[int, str] = {}
        self._extra: dict[int, int] = {}
        """How many jobs they hold without a slot, where they do."""
        self._job_counts: Counter[int] = Counter()
        self._holders: dict[int, int] = {}
        self._counting: frozenset[int] = frozenset()

    def slots(self, pool: str) -> int:
        """Return all slots of a pool's live workers."""
        return sum(self._pools.get(pool, _NO_WORKERS).values())

    def free(self, pool: str) -> int:
        """Return the slots of a pool's live workers that hold nothing."""
        return sum(max(0, room) for room, _ in self._rooms(pool))

    def ahead(self, pool: str) -> int:
        """Return how many jobs a pool's live workers hold that wait for a slot."""
        return sum(max(0, -room) for room, _ in self._rooms(pool))

    def pool_of(self, worker: int) -> str | None:
        """Return the pool of a live worker; None when it is not known."""
        return self._pool_of.get(worker)

    def set_workers(self, workers: Iterable[tuple[int, int, str, int, bool]]) -> None:
        """Take the live workers.

        Their slots and pools, how many jobs they hold without a slot, and whether they count
        how their attempts end.
        """
        self._pools = {}
        self._pool_of = {}
        self._extra = {}
        counting: list[int] = []
        for worker, slots, pool, extra, counts in workers:
            self._pools.setdefault(pool, {})[worker] = slots
            self._pool_of[worker] = pool
            if extra:
                self._extra[worker] = extra
            if counts:
                counting.append(worker)
        self._counting = frozenset(counting)

    def claimed(self, worker: int, ids: Iterable[int]) -> None:
        """Note that this worker claimed these jobs."""
        claims = dict.fromkeys(ids, worker)
        if not self._holders.keys().isdisjoint(claims):
            self.ended(claims)
        self._holders.update(claims)
        self._job_counts[worker] += len(claims)

    def uncounted(self, ids: Iterable[int]) -> list[tuple[int, int]]:
        """Return which of the jobs no worker has that is known to count, and who has them.

        Call it before `ended`.
        """
        holders, counting = self._holders.get, self._counting
        return [
            (job_id, worker)
            for job_id in ids
            if (worker := holders(job_id)) is not None and worker not in counting
        ]

    def ended(self, ids: Iterable[int]) -> None:
        """Note that no worker holds these jobs any more."""
        freed = Counter(map(self._holders.pop, ids, repeat(None)))
        for worker, count in freed.items():
            if worker is not None:
                self._job_counts[worker] -= count

    def reconcile(self, holders: Mapping[int, int], in_flight: Container[int]) -> None:
        """Correct the holders of jobs in flight by a full read."""
        known = self._holders
        self._holders = {job_id: who for job_id, who in known.items() if job_id in in_flight}
        for job_id, worker in holders.items():
            if job_id in in_flight:
                self._holders.setdefault(job_id, worker)
        self._job_counts = Counter(self._holders.values())

    def workers_for(self, jobs: int, pool: str) -> tuple[int, ...]:
        """Return a pool's workers with the most free slots that together have room for jobs."""
        chosen: list[int] = []
        for room, worker in sorted(self._rooms(pool), reverse=True):
            if jobs <= 0 or room <= 0:
                break
            chosen.append(worker)
            jobs -= room
        return tuple(chosen)

    def _rooms(self, pool: str) -> list[tuple[int, int]]:
        """Return for how many jobs a pool's workers have room; below 0 while they prefetch."""
        counts, extra = self._job_counts, self._extra.get
        workers = self._pools.get(pool, _NO_WORKERS)
        return [
            (slots - max(0, counts[each] - extra(each, 0)), each)
            for each, slots in workers.items()
        ]
