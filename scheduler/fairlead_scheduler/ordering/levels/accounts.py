"""What the fair order charges: branches of a pool, and in each branch the accounts of tenants.

This is a tree, as in hierarchical fair queueing (Bennett and Zhang, 1997). A *branch* is a
queue that the policy names, or all other queues together. In a branch each tenant has one
*account*, however many of its lanes are there: that of a named queue, one for each queue that
the policy does not name, and those of jobs that aged in another band. So no tenant gets more by
spreading its jobs over queues that it makes up.

The lanes of an account take turns by start-time fair queueing, charged what their jobs take on
average. A tenant cannot gain by it but from itself, so nothing there is settled afterwards.
"""

from bisect import bisect_right
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.levels.level import NEVER, Level
from fairlead_scheduler.ordering.levels.service import (
    GUEST,
    OUT,
    NewService,
    Service,
    tag_increment,
)

if TYPE_CHECKING:
    from fairlead_scheduler.ordering.lanes import Lane, Queue


class Account:
    """A tenant's account in one branch, as a member of the branch's level."""

    __slots__ = (
        "_ended_at",
        "_turns",
        "_waiting",
        "active",
        "branch",
        "claimed_us",
        "dirty",
        "in_flight",
        "index",
        "key",
        "lanes",
        "lanes_active",
        "new_service",
        "owed_us",
        "service",
        "start",
        "tenant",
        "turn",
        "weight",
    )

    def __init__(self, branch: "Branch", tenant: str, start: int, weight: float) -> None:
        self.branch = branch
        self.tenant = tenant
        self.weight = weight
        self.lanes: list[Lane] = []
        self.lanes_active = 0
        """How many of its lanes wait for service."""
        self.active = False
        self.start = start
        self.service = Service(start)
        self.in_flight = 0
        self.index = 0
        self.key = OUT
        self.dirty = False
        """Whether the next plan has to settle the fields that follow."""
        self.owed_us = 0
        self.claimed_us = 0
        """How much of that is a refund of claims beyond evidence."""
        self.new_service = NewService()
        self.turn: Lane | None = None
        """The lane that has the account's next turn; None: no lane has a job at hand."""
        self._waiting: list[tuple[int, bool, int, Lane]] = []
        """The other lanes with jobs at hand, by their turn tags; some entries are stale."""
        self._turns = 0
        self._ended_at = 0
        """The largest turn tag of a lane that had no job at hand any more."""

    @property
    def is_known(self) -> bool:
        """Whether it and its branch have had their first turns."""
        return min(self.service.standing, self.branch.service.standing) >= GUEST

    def add(self, lane: "Lane") -> None:
        """Charge a lane here from now on."""
        lane.account = self
        self.lanes.append(lane)

    def weight_of_lanes(self) -> float:
        """Return the largest weight that the policy gives one of its lanes."""
        return max([lane.weight for lane in self.lanes], default=self.weight)

    def offer(self, lane: "Lane") -> None:
        """Let a lane that has jobs at hand have turns; a repeat changes nothing."""
        if lane.offered:
            return
        lane.offered = True
        if self.turn is None:
            lane.turn_tag = max(lane.turn_tag, self._ended_at)
            self.turn = lane
        else:
            lane.turn_tag = max(lane.turn_tag, self.turn.turn_tag)
            self._wait(lane)

    def withdraw(self, lane: "Lane") -> None:
        """Let a lane have no more turns until it is offered; a repeat changes nothing."""
        if not lane.offered:
            return
        lane.offered = False
        self._ended_at = max(self._ended_at, lane.turn_tag)
        if self.turn is lane:
            self.turn = self._next()
            if self.turn is None:
                self.key = OUT

    def pass_turn(self) -> None:
        """Give the next turn to the lane that has had least."""
        if self._waiting and self.turn is not None:
            self._wait(self.turn)
            self.turn = self._next()

    def _wait(self, lane: "Lane") -> None:
        self._turns += 1
        heappush(self._waiting, (lane.turn_tag, lane.in_flight > 0, self._turns, lane))

    def _next(self) -> "Lane | None":
        """Take out the lane with the smallest turn tag."""
        while self._waiting:
            tag, _, _, lane = heappop(self._waiting)
            if lane.account is self and lane.offered and lane.turn_tag == tag:
                return lane
        return None


class Branch:
    """A branch of the order, as a member of its pool's level, with its unclaimed rows.

    The rows that wait for a worker are kept in the order of their accounts' tags, which is also
    the order of their root tags: workers claim by root tag, and so follow the accounts' order.

    Args:
        band: The band of its order.
        start: Its start tag.
        weight: Its weight.
        prior_us: The first estimate of a job, until jobs have ended.
    """

    __slots__ = (
        "accounts",
        "active",
        "band",
        "by_tenant",
        "ended",
        "first",
        "floor_row",
        "in_flight",
        "index",
        "key",
        "new_service",
        "owed_us",
        "queue",
        "ran_us",
        "rows",
        "scale",
        "service",
        "settled_in",
        "start",
        "tags",
        "waits_since_us",
        "weight",
    )

    def __init__(self, band: int, start: int, weight: float, prior_us: int) -> None:
        self.band = band
        self.queue: Queue | None = None
        """The queue whose branch it is; None: those that the policy does not name."""
        self.weight = weight
        self.start = start
        self.service = Service(start)
        self.in_flight = 0
        self.index = 0
        self.key = OUT
        self.active = False
        self.waits_since_us = 0
        self.accounts: Level[Account] = Level(prior_us)
        self.by_tenant: dict[str, Account] = {}
        self.scale = 1.0
        """The most that a distance of accounts' tags becomes between root tags."""
        self.owed_us = 0
        self.new_service = NewService()
        self.ended = 0
        self.ran_us = 0
        self.rows: list[InFlightJob] = []
        """Unclaimed rows. Claimed ones leave when they come to the front, all but the last."""
        self.tags: list[int] = []
        """The tags of their accounts."""
        self.first = 0
        """Where the first unclaimed row is; behind the end when there is none."""
        self.floor_row: InFlightJob | None = None
        """The row that represents this branch in the claim floor."""
        self.settled_in = 0
        """The plan for which the virtual time of its accounts was last brought up to date."""

    def account_of(self, tenant: str, weight: float) -> Account:
        """Return a tenant's account, made with this weight when it is not known."""
        account = self.by_tenant.get(tenant)
        if account is None:
            account = self.by_tenant[tenant] = Account(
                self, tenant, self.accounts.virtual, weight
            )
            self.accounts.add(account)
            self.scale = min(self.scale, weight / self.weight)
        return account

    def forget(self, account: Account) -> None:
        """Forget an account without lanes that does not compete."""
        del self.by_tenant[account.tenant]
        self.accounts.remove(account)

    def rescale(self) -> None:
        """Compute the scale from the weights of the branch and its accounts.

        A job moves the tag of its account by its cost over the account's weight, and that of
        the branch by its cost over the branch's. Where the first is more, rows whose tags kept
        the accounts' distances would be claimed ever later than their branch's turn.
        """
        lightest = min((each.weight for each in self.by_tenant.values()), default=1.0)
        self.scale = lightest / self.weight

    def drop_claimed(self) -> InFlightJob | None:
        """Drop claimed rows from the start; return the first unclaimed one (smallest tags)."""
        rows, first = self.rows, self.first
        end = len(rows)
        while first < end and rows[first].claimed_us != UNCLAIMED:
            first += 1
        if first > 256 or first == end > 1:
            del rows[: first - 1], self.tags[: first - 1]
            first = 1
        self.first = first
        return rows[first] if first < len(rows) else None

    def smallest_tag(self) -> int:
        """Return the smallest account's tag of an unclaimed row, or `NEVER`."""
        return NEVER if self.drop_claimed() is None else self.tags[self.first]

    def queued(self) -> int:
        """Return by how much its queued rows have moved its tag on."""
        charged_us = sum(job.charged_us for job in self.rows[self.first :])
        return tag_increment(charged_us, self.weight)

    def place(self, tag: int, job: InFlightJob, floor: int) -> bool:
        """Place a row by its account's tag; whether it is the first now.

        The last row has the branch's tag, and is at least as far behind the one before it as
        their accounts' tags say, scaled to the branch's. A row that overtakes borrows: its root
        tag lies between those of its neighbours as its account's tag lies between theirs, so
        that any number of rows can overtake one that is far ahead. In front of the first row it
        is as far ahead as its account's tag, but by one job at most: that may be below the
        floor, which then follows.
        """
        rows, tags = self.rows, self.tags
        place = bisect_right(tags, tag, lo=self.first)
        if place == self.first < len(rows):
            first = rows[place]
            ahead = (tags[place] - tag) * self.scale
            job.root_tag = first.root_tag - int(min(ahead, first.charged_us / self.weight))
        elif place < len(rows):
            before, before_tag = rows[place - 1], tags[place - 1]
            room = rows[place].root_tag - before.root_tag
            job.root_tag = before.root_tag + room * (tag - before_tag) // (
                tags[place] - before_tag
            )
        else:
            job.root_tag = max(job.root_tag, floor)
            if rows:
                behind = int(max(0, tag - tags[-1]) * self.scale)
                job.root_tag = max(job.root_tag, rows[-1].root_tag + behind)
        rows.insert(place, job)
        tags.insert(place, tag)
        return place == self.first

    def take_rows_of(self, queue: "Queue") -> None:
        """Take the rows of a queue out, which are to be recalled."""
        pairs = zip(self.rows[self.first :], self.tags[self.first :], strict=True)
        left = [(job, tag) for job, tag in pairs if job.lane.queue is not queue]
        self.rows, self.tags = [job for job, _ in left], [tag for _, tag in left]
        self.first = 0
        self.floor_row = None
