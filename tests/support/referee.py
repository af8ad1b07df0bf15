"""Checks a fair order's promises at every tick, against a world and a law.

It shares no code with the order: limits, keys and rates are counted anew from the rows and from
the times of all dispatches.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from tests.support.evenness import Evenness
from tests.support.fleet import Job
from tests.support.law import Held, Law, Line, Owner, owners_of
from tests.support.world import World

LANE_HEADS = 64
"""How many jobs of a lane are searched for one that keys allow."""
ROUNDS = 5
"""Ticks until a job of a queue with keys must go: discovery, request, reading, planning."""


class Referee:
    """Watches a world; `faults` are the violations, in words."""

    def __init__(self, world: World, law: Law) -> None:
        self.faults: list[str] = []
        self.checked = Counter[str]()
        """How often each promise was checked."""
        self._world = world
        self._law = law
        self._evenness = Evenness(world)
        self._gone: dict[Owner, list[int]] = {}
        """Dispatch times of an owner since its windows were last changed."""
        self._unsure: set[Owner] = set()
        """Owners whose windows count more than the dispatches since their last change."""
        self._taken: set[Owner] = set()
        """Owners with refused jobs, which count in their windows for a new leader."""
        self._waits = Counter[Line]()
        """For how many ticks a slot was idle while a line could go."""
        self._newest: dict[Line, int] = {}

    def edited(self, law: Law) -> None:
        """Check the order against another law from now on."""
        for owner in {*self._law.given, *law.given}:
            if self._law.of(owner).windows != law.of(owner).windows:
                self._gone.pop(owner, None)
                self._unsure.add(owner)
        self._law = law
        self._begin()

    def led(self) -> None:
        """Reset what the order owes: a new leader does not know who was ahead."""
        self._unsure |= self._taken
        self._begin()

    def _begin(self) -> None:
        self._evenness.begin()
        self._waits.clear()

    def look(self) -> None:
        """Check what the last plans did, and what they left."""
        lines = self._lines()
        held = Counter(
            each for job in self._world.work.values() for each, _ in self._law.holds(job)
        )
        self._check_bounds()
        self._check_keys(held)
        self._check_places()
        self._check_bands(lines)
        self._check_idle(lines, held)
        for wrong in self._evenness.look(self._law, lines):
            self._fault(wrong)
        self.checked["share"] = self._evenness.checked

    def _check_bounds(self) -> None:
        """Check limits, rates and pauses of the owners of dispatched jobs."""
        owners = Counter(owner for job in self._world.went for owner in owners_of(job))
        for owner, count in owners.items():
            limit, windows = self._limit(owner), self._law.of(owner).windows
            if owner in self._world.paused:
                self._fault(f"{owner} went and is paused")
            if limit is not None:
                self.checked["limit"] += 1
                if self._in_flight(owner) > limit:
                    self._fault(f"{owner} has {self._in_flight(owner)} of {limit}")
            if windows:
                self.checked["rate"] += 1
                gone = self._gone.setdefault(owner, [])
                gone += [self._world.now_us] * count
                for window in windows:
                    if window.is_exceeded(gone):
                        self._fault(f"{owner} is over {window}")
        self._taken.update(owner for job in self._world.refused for owner in owners_of(job))

    def _check_keys(self, held: Mapping[Held, int]) -> None:
        for job in self._world.went:
            for each, most in self._law.holds(job):
                self.checked["key"] += 1
                if held[each] > most:
                    self._fault(f"{held[each]} of {most} have {each}")

    def _check_places(self) -> None:
        """Check that all jobs went to their pools, and to other bands only when aged.

        An aged job that turns out to be in flight may leave its turn to the next one.
        """
        disturbed = self._disturbed()
        for job in self._world.went:
            if job.pool != self._law.home(job.queue):
                self._fault(f"{job.id} of {job.queue} went to {job.pool}")
            young = self._world.due_us(job, self._law, job.band) > self._world.now_us
            if young and job.pool not in disturbed:
                self._fault(f"{job.id} of {job.lane} went in band {job.band} too early")

    def _check_bands(self, lines: Mapping[Line, Sequence[Job]]) -> None:
        """Check that no job went while a higher band had one that could go."""
        lowest: dict[str | None, int] = {}
        for job in self._world.went:
            lowest[job.pool] = max(lowest.get(job.pool, 0), job.band)
        if self._law.kept is not None or not any(lowest.values()):
            return
        disturbed = self._disturbed()
        for line in lines:
            queue, tenant, band = line
            self.checked["band"] += 1
            pool = self._law.home(queue)
            above = pool not in disturbed and band < lowest.get(pool, 0)
            if above and not self._law.keys.get(queue) and self._may_go(queue, tenant):
                self._fault(f"{line} waits, and a band below it went")

    def _check_idle(
        self, lines: Mapping[Line, Sequence[Job]], held: Mapping[Held, int]
    ) -> None:
        """Check that no slot is idle while a line could go, apart from the reserve."""
        idle = {pool for pool in self._world.slots if self._is_idle(pool)}
        disturbed = self._disturbed()
        for line, jobs in lines.items():
            queue, tenant, _ = line
            keyed, pool = bool(self._law.keys.get(queue)), self._law.home(queue)
            newest, self._newest[line] = self._newest.get(line, 0), max(x.seq for x in jobs)
            beside, fresh = pool in idle, newest < self._newest[line]
            self.checked["idle"] += beside
            waits = beside and not (keyed and fresh) and self._may_go(queue, tenant)
            waits = waits and any(self._keys_let(job, held) for job in jobs[:LANE_HEADS])
            self._waits[line] = self._waits[line] + 1 if waits else 0
            if self._waits[line] > (ROUNDS if keyed or pool in disturbed else 0):
                self._fault(f"a slot is idle beside {line}")

    def _disturbed(self) -> set[str | None]:
        """Return the pools where jobs are to be read before they can be offered.

        One that was offered was refused, or jobs were taken back.
        """
        refused = {job.id for job in self._world.refused}
        return {self._law.home(job.queue) for job in self._world.recalled} | {
            plan.pool
            for plan in self._world.plans[-1]
            if plan.doubtful or any(job_id in refused for job_id, *_ in plan.rows)
        }

    def _is_idle(self, pool: str) -> bool:
        slots = self._world.slots[pool]
        kept = 0 if self._law.kept is None else max(0, min(self._law.kept, slots - 1))
        return len(self._world.running[pool]) < slots - kept

    def _lines(self) -> dict[Line, list[Job]]:
        """Return the waiting jobs, line by line, in order."""
        found: dict[Line, list[Job]] = {}
        for stream in sorted(self._world.waiting):
            queue, tenant, rank = stream
            jobs = [self._world.jobs[job_id] for _, job_id in self._world.waiting[stream]]
            if jobs:
                found.setdefault((queue, tenant, self._law.band(queue, rank)), []).extend(jobs)
        return found

    def _keys_let(self, job: Job, held: Mapping[Held, int]) -> bool:
        return all(held[each] < most for each, most in self._law.holds(job))

    def _in_flight(self, owner: Owner) -> int:
        return sum(owner in owners_of(job) for job in self._world.work.values())

    def _limit(self, owner: Owner) -> int | None:
        slots = self._world.slots.get(self._law.home(owner[0]) or "", 0)
        return self._law.of(owner).limit_of(slots)

    def _may_go(self, queue: str, tenant: str) -> bool:
        """Return whether pauses, limits and rates surely allow one job more."""
        return self._has_room((queue, tenant)) and self._has_room((queue, None))

    def _has_room(self, owner: Owner) -> bool:
        limit, windows = self._limit(owner), self._law.of(owner).windows
        if owner in self._world.paused or (windows and owner in self._unsure):
            return False
        if limit is not None and self._in_flight(owner) >= limit:
            return False
        # A new leader reads windows in microseconds, rounded up.
        gone = [*self._gone.get(owner, ()), self._world.now_us - 10]
        return not any(window.is_exceeded(gone) for window in windows)

    def _fault(self, what: str) -> None:
        self.faults.append(f"{self._world.now_us // 1000} ms: {what}")
