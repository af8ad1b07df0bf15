"""Which jobs may be long, and how many of those may be in flight.

A worker cannot be taken from a running job, so the only cure for slots that are all on long
jobs is to keep some free of them. Whether a job is long is not certain before it ends, and a
mean or a hint can be wrong by chance or on purpose. So what counts is evidence: a lane is long
while one of its recent runs was, and while one of its running jobs is. Of a lane that was idle
no more jobs may be in flight than places are free until as many have ended; jobs of lanes that
have shown nothing take places as long ones do.
"""

from collections.abc import (
    Callable,
    Collection,
    Container,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import islice

from fairlead_scheduler.limits.blocked_reasons import FREE
from fairlead_scheduler.ordering.accounts import Account, Branch
from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.level import Level
from fairlead_scheduler.policy.settings import ShortSettings

_STRETCH_MAX = 256
_UNBOUNDED = 1 << 62
SHORT, LONG, UNKNOWN, TRIED = range(4)
"""As what a job counts while it is in flight: only the first of these takes no place. UNKNOWN:
until its lane has shown to be short. TRIED: in the reserve."""


class LongJobs:
    """The jobs in flight that may be long, and the places that there are for them.

    There are as many places as unreserved slots. When all of them are taken, lanes of which
    nothing is known are tried in half of the reserve, one job each.
    """

    __slots__ = (
        "_places",
        "_settings",
        "_trial_places",
        "jobs",
        "longer_us",
        "passed_over",
        "trials",
        "unknown",
    )

    def __init__(self, settings: ShortSettings) -> None:
        self._settings = settings
        self.longer_us = settings.shorter_us
        """From which run time on a job is long."""
        self._places = 1
        self._trial_places = 0
        self.jobs: dict[int, Lane] = {}
        """Jobs that are long."""
        self.unknown: dict[int, Lane] = {}
        """Jobs that take a place because nothing is known of their lanes."""
        self.trials: set[int] = set()
        """First jobs of lanes, which take a slot of the reserve."""
        self.passed_over: set[Lane] = set()
        """Lanes that had their turn in this plan, and whose job that keys allow may not go."""

    @property
    def room(self) -> int:
        """How many places are free; not positive when none is."""
        return self._places - len(self.jobs) - len(self.unknown)

    @property
    def trial_room(self) -> int:
        """How many lanes more may be tried in the reserve.

        Jobs that turned out long there, whoever had them tried, go on taking its slots.
        """
        return self._trial_places + min(0, self.room) - len(self.trials)

    def begin_plan(self, slots: int) -> None:
        """Compute the places from this number of live slots; there is one at least."""
        self.passed_over.clear()
        kept = self._settings.kept_of(slots)
        self._places = max(1, slots - kept) if kept else _UNBOUNDED
        self._trial_places = -(-kept // 2)

    def count_long(self, in_flight_jobs: Mapping[int, InFlightJob]) -> None:
        """Count those in flight that are charged for so much, and those of long lanes."""
        longer_us = self.longer_us
        self.jobs = {
            job_id: job.lane
            for job_id, job in in_flight_jobs.items()
            if job.charged_us >= longer_us or job.lane.mean.longest_us >= longer_us
        }

    def remove(self, job_ids: Collection[int]) -> None:
        """Note that jobs are not in flight any more."""
        _remove(self.jobs, job_ids)
        if self.unknown or self.trials:
            _remove(self.unknown, job_ids)
            self.trials.difference_update(job_ids)

    def outlasted(self, lanes: Container[Lane], jobs: Mapping[int, InFlightJob]) -> list[int]:
        """Count all jobs of these lanes as long; return the unclaimed ones to be recalled.

        Those are the last ones, as many as there are long jobs beyond the places.
        """
        found = {job_id: job for job_id, job in jobs.items() if job.lane in lanes}
        self.trials -= found.keys()
        _remove(self.unknown, found)
        self.jobs |= {job_id: job.lane for job_id, job in found.items()}
        unclaimed = [i for i, job in found.items() if job.claimed_us == UNCLAIMED]
        return unclaimed[len(unclaimed) - min(len(unclaimed), max(0, -self.room)) :]

    def is_newcomer(self, lane: Lane) -> bool:
        """Whether nothing is known of a lane, not even that a running or next job is long."""
        return _is_unknown(lane) and not self._is_long(lane) and lane not in self.passed_over

    def blocks(self, lane: Lane) -> bool:
        """Whether a lane's next job may not go now; it must have one at hand."""
        if lane.mean.samples and not self._is_long(lane):
            return self._is_unproven(lane)
        if self.room > 0:
            return False
        return lane.in_flight > 0 or self._is_long(lane) or self.trial_room <= 0

    def awaits_place(self, lane: Lane) -> bool:
        """Whether a blocked lane stays blocked until its turn comes for a place."""
        return self._is_long(lane) or self.blocks(lane)

    def may_go(self, lane: Lane) -> bool:
        """Whether a lane's next job may go now, as far as that is known."""
        if not lane.heads.ready:
            return True
        return lane not in self.passed_over and not self.blocks(lane)

    def turn(self, lane: Lane, jobs_max: int) -> tuple[int, int]:
        """Return as what a lane's next jobs count, and how many of them; it may have a turn."""
        room = self.room
        if self._is_long(lane):
            return LONG, self._alike(lane, min(jobs_max, room))
        if not lane.mean.samples:
            if lane.in_flight:
                return UNKNOWN, self._alike(lane, min(jobs_max, room))
            return (UNKNOWN if room > 0 else TRIED), 1
        most = max(room, self._trial_places)
        if _proven(lane) < most:
            jobs_max = min(jobs_max, most - self._short_of(lane))
        return SHORT, self._alike(lane, jobs_max)

    def count(self, lane: Lane, kind: int, job_ids: Sequence[int]) -> None:
        """Count jobs of a lane that are about to be in flight as what `turn` said."""
        if kind == LONG:
            self.jobs.update(dict.fromkeys(job_ids, lane))
        elif kind == UNKNOWN:
            self.unknown.update(dict.fromkeys(job_ids, lane))
        elif kind == TRIED:
            self.trials.update(job_ids)

    def _is_unproven(self, lane: Lane) -> bool:
        """Whether a lane of short jobs has as many in flight as it may before as many ended.

        Its jobs take no place any more that took one because nothing was known.
        """
        most = max(self.room, self._trial_places)
        if lane.in_flight < most or _proven(lane) >= most:
            return False
        _remove(self.unknown, [i for i, other in self.unknown.items() if other is lane])
        most = max(self.room, self._trial_places)
        return self._short_of(lane) >= most and _proven(lane) < most

    def _short_of(self, lane: Lane) -> int:
        """Return how many of a lane's jobs in flight take no place as long ones."""
        if not lane.in_flight or not self.jobs:
            return lane.in_flight
        return lane.in_flight - sum(other is lane for other in self.jobs.values())

    def _is_long(self, lane: Lane) -> bool:
        """Whether a lane has shown to be long, or its next job is hinted to be."""
        ready = lane.heads.ready
        hint_us = (ready[0][2] if ready else None) or 0
        return lane.mean.longest_us >= self.longer_us or hint_us >= self.longer_us

    def _alike(self, lane: Lane, jobs_max: int) -> int:
        """Return how many of a lane's next jobs are hinted long, or are not, as the first."""
        if jobs_max <= 1:
            return 1
        longer_us, alike = self.longer_us, 0
        first = (lane.heads.ready[0][2] or 0) >= longer_us
        for head in islice(lane.heads.ready, min(jobs_max, _STRETCH_MAX)):
            if ((head[2] or 0) >= longer_us) != first:
                break
            alike += 1
        return alike


def _remove(jobs: dict[int, Lane], job_ids: Iterable[int]) -> None:
    for job_id in job_ids:
        jobs.pop(job_id, None)


def _proven(lane: Lane) -> int:
    """Return how many jobs of a lane have ended since it last had none to run."""
    mean = lane.mean
    if not lane.in_flight and mean.proven_since_us != lane.waits_since_us:
        mean.proven, mean.proven_since_us = 0, lane.waits_since_us
    return mean.proven


def find_long_jobs(
    settings: ShortSettings | None, in_flight_jobs: Mapping[int, InFlightJob]
) -> LongJobs | None:
    """Return the long jobs in flight; None when no slots are reserved for short ones."""
    if settings is None:
        return None
    found = LongJobs(settings)
    found.count_long(in_flight_jobs)
    return found


class BlockedLongAccounts:
    """Accounts of one branch with lanes that wait for a place, in the order of their tags.

    Meanwhile short jobs may move virtual time on. Accounts that were lifted to it one by one
    would be level whenever they come back, and would then share by jobs instead of by
    slot-seconds; so it lifts all of them together.
    """

    __slots__ = ("_heap", "_lift", "_newcomers", "accounts", "lanes")

    def __init__(self) -> None:
        self.accounts: dict[Account, int] = {}
        """Each with the lift that was in force when it came."""
        self.lanes: dict[Account, dict[Lane, None]] = {}
        """The lanes of each that wait."""
        self._heap: list[tuple[int, int]] = []
        self._newcomers: list[tuple[int, int]] = []
        """Those of `_heap` with a lane of which nothing was known."""
        self._lift = 0

    def add(self, lane: Lane) -> None:
        """Take a lane in."""
        account = lane.account
        self.lanes.setdefault(account, {})[lane] = None
        self.accounts.setdefault(account, self._lift)
        self.moved(account)

    @property
    def may_have_newcomers(self) -> bool:
        """Whether there may be lanes of which nothing is known."""
        return bool(self._newcomers)

    @property
    def entries(self) -> int:
        """How many heap entries there are, stale ones included."""
        return len(self._heap) + len(self._newcomers)

    def moved(self, account: Account) -> None:
        """Note that the tag of one of these accounts has changed."""
        entry = (account.start - self.accounts[account], account.index)
        heappush(self._heap, entry)
        if self._has_unknown(account):
            heappush(self._newcomers, entry)
        # While no lane may go none is taken out, and running ones are charged in each plan.
        if self.entries > 4 * len(self.accounts) + 64:
            self._heap = [(x.start - base, x.index) for x, base in self.accounts.items()]
            heapify(self._heap)
            unknown = [(x, b) for x, b in self.accounts.items() if self._has_unknown(x)]
            self._newcomers = [(x.start - base, x.index) for x, base in unknown]
            heapify(self._newcomers)

    def _has_unknown(self, account: Account) -> bool:
        return any(_is_unknown(lane) for lane in self.lanes[account])

    def remove(self, lane: Lane) -> None:
        """Remove a lane; its account's tag is as far behind V as it stood behind it.

        An account with another lane that waits for service has kept up with V by itself.
        """
        account = lane.account
        lanes = self.lanes[account]
        del lanes[lane]
        if not lanes:
            del self.lanes[account]
            self.lift(account, self.accounts.pop(account))

    def rejoin(self, account: Account) -> None:
        """Enter an account by the tag that it has now."""
        self.accounts[account] = self._lift
        self.moved(account)

    def lift(self, account: Account, base: int) -> None:
        """Lift an account by as much as all have been lifted since it came."""
        if not account.active:
            account.branch.accounts.time.move(account, self._lift - base)

    def next_lanes(
        self,
        room: int,
        virtual: int,
        members: list[Account],
        may_go: Callable[[Lane], bool],
    ) -> list[Lane]:
        """Return lanes of the accounts with the smallest tags: unblock them.

        Those without jobs at hand take up no room.
        """
        return self._take(self._heap, room, virtual, members, may_go)

    def next_newcomers(
        self,
        room: int,
        virtual: int,
        members: list[Account],
        is_newcomer: Callable[[Lane], bool],
    ) -> list[Lane]:
        """Return the same of those lanes of which nothing is known."""
        return self._take(self._newcomers, room, virtual, members, is_newcomer)

    def _take(
        self,
        heap: list[tuple[int, int]],
        room: int,
        virtual: int,
        members: list[Account],
        is_wanted: Callable[[Lane], bool],
    ) -> list[Lane]:
        found: dict[Lane, None] = {}
        left: list[tuple[int, int]] = []
        while heap and room > 0:
            key, index = heappop(heap)
            account = members[index]
            base = self.accounts.get(account)
            if base is None:
                continue
            if account.start - base != key:
                # It was served meanwhile, in another band or by another lane of it.
                if account.start - base > key:
                    heappush(heap, (account.start - base, index))
                continue
            wanted = [lane for lane in self.lanes[account] if is_wanted(lane)]
            if not wanted:
                left.append((key, index))
                continue
            self._lift = max(self._lift, virtual - key)
            found |= dict.fromkeys(wanted)
            room -= any(lane.heads.ready for lane in wanted)
        for entry in left:
            heappush(heap, entry)
        return list(found)


def _is_unknown(lane: Lane) -> bool:
    return not (lane.mean.samples or lane.in_flight)


class ShortJobReserve:
    """The lanes of one ledger that wait for a place."""

    __slots__ = ("_branches", "_root")

    def __init__(self, root: Level[Branch]) -> None:
        self._root = root
        self._branches: dict[Branch, BlockedLongAccounts] = {}

    def add(self, lane: Lane) -> None:
        """Take a lane in that has no turns."""
        branch = lane.account.branch
        self._branches.setdefault(branch, BlockedLongAccounts()).add(lane)
        self._count(branch)

    def moved(self, account: Account) -> None:
        """Note that an account's tag has changed, if it has lanes here."""
        blocked = self._branches.get(account.branch)
        if blocked is not None and account in blocked.accounts:
            blocked.moved(account)

    @contextmanager
    def moving(self, account: Account) -> Generator[None]:
        """Let an account's tags be numbered otherwise, by its own share of the lift."""
        blocked = self._branches.get(account.branch)
        if blocked is None or account not in blocked.accounts:
            yield
            return
        blocked.lift(account, blocked.accounts[account])
        yield
        blocked.rejoin(account)

    def remove(self, lane: Lane) -> None:
        """Remove a lane."""
        branch = lane.account.branch
        self._branches[branch].remove(lane)
        self._count(branch)

    def lanes(self) -> list[Lane]:
        """Return all of them."""
        return [
            lane
            for blocked in self._branches.values()
            for lanes in blocked.lanes.values()
            for lane in lanes
        ]

    def next_lanes(
        self, long_jobs: LongJobs, virtual_in: Callable[[Branch], int]
    ) -> list[Lane]:
        """Return the lanes whose turn it is, for as many jobs as have room: unblock them.

        V lifts resting branches. Branches of queues that something else blocks come last: they
        could not use the room.
        """
        virtual = self._root.virtual
        resting = [branch for branch in self._branches if not branch.active]
        lift = virtual - min((branch.start for branch in resting), default=virtual)
        if lift > 0:
            for branch in resting:
                self._root.time.move(branch, lift)
        found: dict[Lane, None] = {}
        room, trial_room = long_jobs.room, long_jobs.trial_room
        # Each of so many branches may need all of the room: their turns alternate.
        branches = room
        for branch in sorted(self._branches, key=_turn_of) if room > 0 else ():
            place = virtual_in(branch), branch.accounts.members
            may_go = self._branches[branch].next_lanes(room, *place, long_jobs.may_go)
            found |= dict.fromkeys(may_go)
            branches -= bool(may_go)
            if branches <= 0:
                break
        tried = [branch for branch, x in self._branches.items() if x.may_have_newcomers]
        for branch in sorted(tried, key=_turn_of) if trial_room > 0 else ():
            lanes, place = self._branches[branch], (virtual_in(branch), branch.accounts.members)
            newcomers = lanes.next_newcomers(trial_room, *place, long_jobs.is_newcomer)
            found |= dict.fromkeys(newcomers)
            trial_room -= len(newcomers)
            if trial_room <= 0:
                break
        return list(found)

    def _count(self, branch: Branch) -> None:
        accounts = self._branches[branch].accounts
        branch.accounts.reserve_blocked = len(accounts)
        if not accounts:
            del self._branches[branch]
        self._root.reserve_blocked = len(self._branches)


def _turn_of(branch: Branch) -> tuple[bool, int]:
    queue = branch.queue
    return queue is not None and queue.blocked_by != FREE, branch.start
