"""Which jobs are long, and how many of those may be in flight.

A worker cannot be taken from a running job, so the only cure for slots that are all on long
jobs is to keep some free of them. Whether a job is long is not certain before it ends: its
lane's mean is a guess, its producer's hint another, and a new lane has neither.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from heapq import heapify, heappop, heappush, nsmallest

from fairlead_scheduler.limits.blocked_reasons import FREE
from fairlead_scheduler.ordering.accounts import Account, Branch
from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.level import Level
from fairlead_scheduler.policy.settings import ShortSettings

_STRETCH_MAX = 256


class LongJobs:
    """The long jobs in flight, of which there may be as many as there are unreserved slots."""

    __slots__ = ("_prior_samples", "_settings", "_slots", "ids")

    def __init__(self, settings: ShortSettings, prior_samples: int) -> None:
        self._settings = settings
        self._prior_samples = prior_samples
        self._slots = 1
        self.ids: set[int] = set()

    @property
    def longer_us(self) -> int:
        """From which run time on a job is long."""
        return self._settings.shorter_us

    @property
    def room(self) -> int:
        """How many long jobs more may be dispatched; not positive when none may."""
        return self._slots - len(self.ids)

    def resize(self, slots: int) -> None:
        """Compute the room from this number of live slots; long jobs may have one at least."""
        settings = self._settings
        kept = max(settings.lowest, slots * settings.per_10_000 // 10_000)
        self._slots = max(1, slots - kept)

    def count_long(self, in_flight_jobs: Mapping[int, InFlightJob]) -> None:
        """Count those in flight as long that are charged for so much."""
        longer_us = self.longer_us
        self.ids = {i for i, job in in_flight_jobs.items() if job.charged_us >= longer_us}

    def is_long(self, lane: Lane) -> bool:
        """Whether a lane's next job counts as long; it must have one at hand."""
        _, _, hint_us, _ = lane.heads.ready[0]
        mean = lane.mean
        if hint_us is not None:
            return mean.shrunk_us(hint_us, self._prior_samples) >= self.longer_us
        if mean.samples:
            return mean.value_us(0) >= self.longer_us
        return lane.in_flight > 0

    def stretch(self, lane: Lane, *, is_long: bool) -> int:
        """Return how many of a lane's next jobs count like the first, and may go."""
        if not lane.mean.samples:
            return 1
        alike = 0
        for _, _, hint_us, _ in lane.heads.ready:
            if hint_us is not None or alike >= _STRETCH_MAX:
                break
            alike += 1
        return max(1, min(alike, self.room) if is_long else alike)


def find_long_jobs(
    settings: ShortSettings | None,
    prior_samples: int,
    in_flight_jobs: Mapping[int, InFlightJob],
) -> LongJobs | None:
    """Return the long jobs in flight; None when no slots are reserved for short ones."""
    if settings is None:
        return None
    found = LongJobs(settings, prior_samples)
    found.count_long(in_flight_jobs)
    return found


class BlockedLongAccounts:
    """Accounts of one branch with lanes that wait for a long job to end, by their tags.

    Meanwhile short jobs may move virtual time on. Accounts that were lifted to it one by one
    would be level whenever they come back, and would then share by jobs instead of by
    slot-seconds; so it lifts all of them together.
    """

    __slots__ = ("_heap", "_lift", "accounts", "lanes")

    def __init__(self) -> None:
        self.accounts: dict[Account, int] = {}
        """Each with the lift that was in force when it came."""
        self.lanes: dict[Account, dict[Lane, None]] = {}
        """The lanes of each that wait."""
        self._heap: list[tuple[int, int]] = []
        self._lift = 0

    def add(self, lane: Lane) -> None:
        """Take a lane in."""
        account = lane.account
        self.lanes.setdefault(account, {})[lane] = None
        if account not in self.accounts:
            self.accounts[account] = self._lift
            self.moved(account)

    @property
    def entries(self) -> int:
        """How many heap entries there are, stale ones included."""
        return len(self._heap)

    def moved(self, account: Account) -> None:
        """Note that the tag of one of these accounts has changed."""
        heappush(self._heap, (account.start - self.accounts[account], account.index))
        # While no lane may go none is taken out, and running ones are charged in each plan.
        if len(self._heap) > 2 * len(self.accounts) + 64:
            self._heap = [(x.start - base, x.index) for x, base in self.accounts.items()]
            heapify(self._heap)

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

    def next_lanes(self, room: int, virtual: int, members: list[Account]) -> list[Lane]:
        """Return lanes of the accounts with the smallest tags: unblock them.

        Those without jobs at hand take up no room.
        """
        heap = self._heap
        found: list[Lane] = []
        while heap and room > 0:
            key, index = heappop(heap)
            account = members[index]
            base = self.accounts.get(account)
            if base is not None and account.start - base == key:
                self._lift = max(self._lift, virtual - key)
                lanes = self.lanes[account]
                found += lanes
                room -= any(lane.heads.ready for lane in lanes)
        return found


class ShortJobReserve:
    """The lanes of one ledger that wait for a long job to end."""

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

    def next_branches(self, room: int) -> list[Branch]:
        """Return the branches whose turn it is, for so many jobs; V lifts the resting ones.

        Branches of queues that something else blocks come last: they could not use the room.
        """
        virtual = self._root.virtual
        resting = [branch for branch in self._branches if not branch.active]
        lift = virtual - min((branch.start for branch in resting), default=virtual)
        if lift > 0:
            for branch in resting:
                self._root.time.move(branch, lift)
        return nsmallest(room, self._branches, key=_turn_of)

    def next_lanes(self, branch: Branch, room: int, virtual: int) -> list[Lane]:
        """Return the lanes of a branch whose turn it is, for so many jobs: unblock them."""
        return self._branches[branch].next_lanes(room, virtual, branch.accounts.members)

    def _count(self, branch: Branch) -> None:
        accounts = self._branches[branch].accounts
        branch.accounts.reserve_blocked = len(accounts)
        if not accounts:
            del self._branches[branch]
        self._root.reserve_blocked = len(self._branches)


def _turn_of(branch: Branch) -> tuple[bool, int]:
    queue = branch.queue
    return queue is not None and queue.blocked_by != FREE, branch.start
