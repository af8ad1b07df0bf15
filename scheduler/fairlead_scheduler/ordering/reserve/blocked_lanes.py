"""The lanes that wait for a place or for a trial, and whose turn it is."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import islice

from fairlead_scheduler.limits.blocked_reasons import FREE
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.ordering.levels.level import Level
from fairlead_scheduler.ordering.reserve.places import Places


class _TagHeap:
    """Accounts by their tags as of when they were entered; old entries stay until they surface.

    While no lane may go none is taken out, and running ones are charged in each plan: so it is
    made anew when most of it is old.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, tag: int, account: Account) -> None:
        """Enter an account."""
        heappush(self._entries, (tag, account.index))

    def keep(self, tags: dict[Account, int]) -> None:
        """Drop all entries but these."""
        self._entries = [(tag, account.index) for account, tag in tags.items()]
        heapify(self._entries)

    def in_order(self, tag_of: Callable[[int], int | None]) -> Iterator[tuple[int, int]]:
        """Take out tags and places of accounts in the order of the tags, as they are now.

        Args:
            tag_of: Returns the tag of an account by its place; None if it does not wait.
        """
        entries = self._entries
        while entries:
            entered, index = heappop(entries)
            tag = tag_of(index)
            if tag == entered:
                yield entered, index
            elif tag is not None and tag > entered:
                # It was served meanwhile, in another band or by another lane of it.
                heappush(entries, (tag, index))


class BlockedAccounts:
    """Accounts of one branch with lanes that wait for a place, in the order of their tags.

    Meanwhile short jobs may move virtual time on. Accounts that were lifted to it one by one
    would be level whenever they come back, and would then share by jobs instead of by
    slot-seconds; so it lifts all of them together.
    """

    __slots__ = ("_all", "_lift", "_untried", "accounts", "lanes")

    def __init__(self) -> None:
        self.accounts: dict[Account, int] = {}
        """Each with the lift that was in force when it came."""
        self.lanes: dict[Account, dict[Lane, None]] = {}
        """The lanes of each that wait."""
        self._all, self._untried = _TagHeap(), _TagHeap()
        self._lift = 0

    @property
    def may_be_tried(self) -> bool:
        """Whether there may be lanes to be tried in the reserve."""
        return len(self._untried) > 0

    @property
    def entries(self) -> int:
        """How many heap entries there are, stale ones included."""
        return len(self._all) + len(self._untried)

    def add(self, lane: Lane) -> None:
        """Take a lane in."""
        account = lane.account
        self.lanes.setdefault(account, {})[lane] = None
        self.accounts.setdefault(account, self._lift)
        self.moved(account)

    def moved(self, account: Account) -> None:
        """Note that the tag of one of these accounts has changed."""
        self._all.put(self._tag(account), account)
        if self._is_untried(account):
            self._untried.put(self._tag(account), account)
        if self.entries > 4 * len(self.accounts) + 64:
            tags = {account: self._tag(account) for account in self.accounts}
            self._all.keep(tags)
            self._untried.keep({x: tag for x, tag in tags.items() if self._is_untried(x)})

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
        *,
        untried: bool = False,
    ) -> list[Lane]:
        """Return lanes of the accounts with the smallest tags: unblock them.

        Those without jobs at hand take up no room.

        Args:
            room: How many accounts may go.
            virtual: V of the branch.
            members: The accounts of the branch by their places.
            may_go: Whether a lane is one of those that are asked for.
            untried: Whether only lanes are that may be tried in the reserve.
        """
        heap = self._untried if untried else self._all
        found: dict[Lane, None] = {}
        kept: list[tuple[int, Account]] = []

        def tag_of(index: int) -> int | None:
            account = members[index]
            return self._tag(account) if account in self.accounts else None

        in_order = heap.in_order(tag_of)
        while room > 0 and (entry := next(in_order, None)) is not None:
            tag, account = entry[0], members[entry[1]]
            lanes = [lane for lane in self.lanes[account] if may_go(lane)]
            if not lanes:
                kept.append((tag, account))
                continue
            self._lift = max(self._lift, virtual - tag)
            found |= dict.fromkeys(lanes)
            room -= any(lane.heads.ready for lane in lanes)
        for tag, account in kept:
            heap.put(tag, account)
        return list(found)

    def _tag(self, account: Account) -> int:
        return account.start - self.accounts[account]

    def _is_untried(self, account: Account) -> bool:
        return any(not lane.in_flight for lane in self.lanes[account])


class ShortJobReserve:
    """The lanes of one ledger that wait for a place."""

    __slots__ = ("_branches", "_due", "_root")

    def __init__(self, root: Level[Branch]) -> None:
        self._root = root
        self._branches: dict[Branch, BlockedAccounts] = {}
        self._due: dict[Lane, int] = {}
        """Lanes that were unblocked, with what turns they had had by then."""

    def add(self, lane: Lane) -> None:
        """Take a lane in that has no turns."""
        branch = lane.account.branch
        self._branches.setdefault(branch, BlockedAccounts()).add(lane)
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
        self, places: Places, virtual_in: Callable[[Branch], int], *, more: bool
    ) -> list[Lane]:
        """Return the lanes whose turn it is, for as many jobs as have room: unblock them.

        Lanes that were unblocked before may still wait for their turns. Unless there are to be
        `more` beside them, room is left for these: to unblock hundreds in each plan and block
        them again when the room has been used would cost more than to order their jobs.
        """
        self._lift_resting()
        self._due = {lane: tag for lane, tag in self._due.items() if _is_due(lane, tag)}
        room = places.room - (0 if more else len(self._due))
        found = dict.fromkeys(
            self._next_for_places(places, virtual_in, room)
            + self._next_for_trials(places, virtual_in)
        )
        # As many as there are places leave no room anyway; a spray of names that are put off
        # would be walked in each plan.
        left = max(0, places.total - len(self._due))
        self._due |= {lane: lane.turn_tag for lane in islice(found, left)}
        return list(found)

    def _lift_resting(self) -> None:
        """Let V lift the branches that have nothing but blocked lanes, all by the same."""
        virtual = self._root.virtual
        resting = [branch for branch in self._branches if not branch.active]
        lift = virtual - min((branch.start for branch in resting), default=virtual)
        if lift > 0:
            for branch in resting:
                self._root.time.move(branch, lift)

    def _next_for_places(
        self, places: Places, virtual_in: Callable[[Branch], int], room: int
    ) -> list[Lane]:
        """Return lanes of the first branches that have some, as many branches as places.

        How many jobs a branch has in its turn is not known before, so each may use all of them.
        """
        found: list[Lane] = []
        left = room
        for branch in sorted(self._branches, key=_turn_of) if room > 0 else ():
            lanes = self._branches[branch].next_lanes(
                room, virtual_in(branch), branch.accounts.members, places.may_go
            )
            found += lanes
            left -= bool(lanes)
            if left <= 0:
                break
        return found

    def _next_for_trials(
        self, places: Places, virtual_in: Callable[[Branch], int]
    ) -> list[Lane]:
        """Return lanes to be tried in the reserve, one job each."""
        room = places.trial_room
        found: list[Lane] = []
        tried = [branch for branch, each in self._branches.items() if each.may_be_tried]
        for branch in sorted(tried, key=_turn_of) if room > 0 else ():
            found += self._branches[branch].next_lanes(
                room - len(found),
                virtual_in(branch),
                branch.accounts.members,
                places.may_be_tried,
                untried=True,
            )
            if len(found) >= room:
                break
        return found

    def _count(self, branch: Branch) -> None:
        accounts = self._branches[branch].accounts
        branch.accounts.reserve_blocked = len(accounts)
        if not accounts:
            del self._branches[branch]
        self._root.reserve_blocked = len(self._branches)


def _is_due(lane: Lane, turn_tag: int) -> bool:
    """Whether a lane has not had its turn since, and will have it."""
    is_free = lane.blocked_by == FREE and lane.queue.blocked_by == FREE
    return is_free and lane.offered and lane.turn_tag == turn_tag


def _turn_of(branch: Branch) -> tuple[bool, int]:
    """Return when it is a branch's turn; one that something else blocks could use no room."""
    queue = branch.queue
    return queue is not None and queue.blocked_by != FREE, branch.start
