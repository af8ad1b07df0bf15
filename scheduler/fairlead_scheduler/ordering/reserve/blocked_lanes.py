"""The lanes that wait for a place or for a trial, and whose turn it is."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from itertools import islice

from fairlead_scheduler.limits.blocked_reasons import FREE
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.ordering.levels.level import NEVER, Level
from fairlead_scheduler.ordering.levels.service import OUT, attained_by, lift, tag_increment
from fairlead_scheduler.ordering.reserve.lane_turns import LaneTurns
from fairlead_scheduler.ordering.reserve.places import Places

_AnyLevel = Level[Account] | Level[Branch]
_TurnOf = Callable[[_AnyLevel], int]
"""Returns the tag up to which newcomers may have their first turns at a level."""


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

    def first(self, tag_of: Callable[[int], int | None]) -> tuple[int, int] | None:
        """Return tag and place of the account with the smallest tag as it is now."""
        entry = next(self.in_order(tag_of), None)
        if entry is not None:
            heappush(self._entries, entry)
        return entry

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

    __slots__ = ("_all", "_known", "_level", "_lift", "_untried", "accounts", "lanes", "turn")

    def __init__(self, branch: Branch) -> None:
        self.turn = branch.start
        """The tag of the first turn of the branch that one of their lanes could not use."""
        self._level = branch.accounts
        self.accounts: dict[Account, int] = {}
        """Each with the lift that was in force when it came."""
        self.lanes: dict[Account, LaneTurns] = {}
        """The lanes of each that wait."""
        self._all, self._known, self._untried = _TagHeap(), _TagHeap(), _TagHeap()
        self._lift = 0

    @property
    def may_be_tried(self) -> bool:
        """Whether there may be lanes to be tried in the reserve."""
        return len(self._untried) > 0

    @property
    def entries(self) -> int:
        """How many heap entries there are, stale ones included."""
        return len(self._all) + len(self._known) + len(self._untried)

    def add(self, lane: Lane) -> None:
        """Take a lane in: beside those that wait with tags of V, and not ahead of them.

        An account that is behind V, because it was unblocked and had no turn, is lifted alone:
        the others have been lifted with V meanwhile.
        """
        account = lane.account
        lanes = self.lanes.get(account)
        if lanes is None:
            lanes = self.lanes[account] = LaneTurns()
        lanes.add(lane)
        if account not in self.accounts:
            first = self._known.first(self._tag_at)
            if first is not None:
                self._lift = max(self._lift, self._level.virtual - first[0])
            behind = 0 if account.active else self._level.virtual - account.start
            self.accounts[account] = self._lift - max(0, behind)
        self.moved(account)

    def moved(self, account: Account) -> None:
        """Note that the tag of one of these accounts has changed."""
        self._all.put(self._tag(account), account)
        if not account.service.put_off:
            self._known.put(self._tag(account), account)
        if self._is_untried(account):
            self._untried.put(self._tag(account), account)
        if self.entries > 4 * len(self.accounts) + 64:
            tags = {account: self._tag(account) for account in self.accounts}
            self._all.keep(tags)
            self._known.keep({x: tag for x, tag in tags.items() if not x.service.put_off})
            self._untried.keep({x: tag for x, tag in tags.items() if self._is_untried(x)})

    def remove(self, lane: Lane) -> None:
        """Remove a lane; its account's tag is as far behind V as it stood behind it.

        An account with another lane that waits for service has kept up with V by itself.
        """
        account = lane.account
        lanes = self.lanes[account]
        lanes.remove(lane)
        if not lanes:
            del self.lanes[account]
            self.lift(account, self.accounts.pop(account))

    def rejoin(self, account: Account) -> None:
        """Enter an account by the tag that it has now."""
        self.accounts[account] = self._lift
        self.moved(account)

    def settle(self) -> None:
        """Lift all accounts by as much as they are to be lifted so far."""
        for account, base in self.accounts.items():
            if base != self._lift and not account.active:
                self.lift(account, base)
                self.accounts[account] = self._lift

    def lift(self, account: Account, base: int) -> None:
        """Lift an account by as much as all have been lifted since it came."""
        if not account.active:
            lift(account, self._lift - base)

    def next_lanes(
        self,
        room: int,
        virtual: int,
        may_go: Callable[[Lane], bool],
        *,
        turn: int = NEVER,
        untried: bool = False,
    ) -> list[Lane]:
        """Return lanes of the accounts with the smallest tags: unblock them.

        Of an account as many as there is room for. Those without jobs at hand take up none.

        Args:
            room: How many accounts may go.
            virtual: V of the branch.
            may_go: Whether a lane is one of those that are asked for.
            turn: A newcomer with a larger tag than this has not its turn yet.
            untried: Whether only lanes are that may be tried in the reserve.
        """
        heap, members = self._untried if untried else self._all, self._level.members
        found: dict[Lane, None] = {}
        kept: list[tuple[int, Account]] = []
        in_order = heap.in_order(self._tag_at)
        while room > 0 and (entry := next(in_order, None)) is not None:
            tag, account = entry[0], members[entry[1]]
            if account.service.put_off and tag + self._lift > turn:
                kept.append((tag, account))
                break
            lanes = self.lanes[account].first(room, may_go)
            if not lanes:
                kept.append((tag, account))
                continue
            self._lift = max(self._lift, virtual - tag)
            found |= dict.fromkeys(lanes)
            room -= any(lane.heads.ready for lane in lanes)
        for tag, account in kept:
            heap.put(tag, account)
        return list(found)

    def _tag_at(self, index: int) -> int | None:
        """Return the tag of the account at a place; None if it has no lanes here."""
        account = self._level.members[index]
        return self._tag(account) if account in self.accounts else None

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
        account = lane.account
        branch = account.branch
        blocked = self._branches.get(branch)
        if blocked is None:
            blocked = self._branches[branch] = BlockedAccounts(branch)
            branch.accounts.time.settle_lifts = blocked.settle
        blocked.turn = min(blocked.turn, branch.start)
        blocked.add(lane)
        branch.accounts.hold(account)
        self._root.hold(branch)
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
        account = lane.account
        branch = account.branch
        self._branches[branch].remove(lane)
        if account not in self._branches[branch].accounts:
            branch.accounts.let_go(account)
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
        self._due = {
            lane: tag
            for lane, tag in self._due.items()
            if _is_due(lane, tag) and not self._is_early(lane)
        }
        room = places.room - (0 if more else len(self._due))
        turn_of = _last_turn if more else _next_turn
        found = dict.fromkeys(
            self._next_for_places(places, virtual_in, room, turn_of)
            + self._next_for_trials(places, virtual_in, turn_of)
        )
        # As many as there are places leave no room anyway; a spray of names that are put off
        # would be walked in each plan.
        left = max(0, places.total - len(self._due))
        self._due |= {lane: lane.turn_tag for lane in islice(found, left)}
        return list(found)

    def _is_early(self, lane: Lane) -> bool:
        """Whether a lane was unblocked before its first turn, when nothing else could go."""
        account, branch = lane.account, lane.account.branch
        if account.service.put_off and account.start > _next_turn(branch.accounts):
            return True
        return branch.service.put_off and branch.start > _next_turn(self._root)

    def _lift_resting(self) -> None:
        """Let V lift the branches that have nothing but blocked lanes, all by the same."""
        virtual = self._root.virtual
        resting = [branch for branch in self._branches if not branch.active]
        behind = virtual - min((branch.start for branch in resting), default=virtual)
        if behind > 0:
            for branch in resting:
                lift(branch, behind)

    def _next_for_places(
        self,
        places: Places,
        virtual_in: Callable[[Branch], int],
        room: int,
        turn_of: _TurnOf,
    ) -> list[Lane]:
        """Return lanes of the first branches that have some, as many branches as places.

        How many jobs a branch has in its turn is not known before, so each may use all of them.
        """
        found: list[Lane] = []
        left, turn = room, turn_of(self._root)
        for branch in sorted(self._branches, key=self._turn_of) if room > 0 else ():
            if branch.service.put_off and branch.start > turn:
                continue
            lanes = self._branches[branch].next_lanes(
                room,
                virtual_in(branch),
                places.may_go,
                turn=turn_of(branch.accounts),
            )
            self._take_turn(branch, lanes)
            found += lanes
            left -= bool(lanes)
            if left <= 0:
                break
        return found

    def _next_for_trials(
        self,
        places: Places,
        virtual_in: Callable[[Branch], int],
        turn_of: _TurnOf,
    ) -> list[Lane]:
        """Return lanes to be tried in the reserve, one job each."""
        room, turn = places.trial_room, turn_of(self._root)
        found: list[Lane] = []
        tried = [branch for branch, each in self._branches.items() if each.may_be_tried]
        for branch in sorted(tried, key=self._turn_of) if room > 0 else ():
            if branch.service.put_off and branch.start > turn:
                continue
            lanes = self._branches[branch].next_lanes(
                room - len(found),
                virtual_in(branch),
                places.may_be_tried,
                turn=turn_of(branch.accounts),
                untried=True,
            )
            self._take_turn(branch, lanes)
            found += lanes
            if len(found) >= room:
                break
        return found

    def _turn_of(self, branch: Branch) -> tuple[bool, int]:
        """Return when it is a branch's turn.

        One that something else blocks could use no room. One with short jobs goes on having
        turns: so it keeps the one that a blocked lane could not use, but is no sooner than by
        what it has had.
        """
        queue, turn, root = branch.queue, branch.start, self._root
        if branch.active:
            had = attained_by(branch, root.time.at_us)
            turn = min(turn, max(self._branches[branch].turn, root.virtual, had))
        return queue is not None and queue.blocked_by != FREE, turn

    def _take_turn(self, branch: Branch, lanes: list[Lane]) -> None:
        """Let a branch have the turn that these lanes could not use when it had it."""
        cost_us = sum(lane.expected_us for lane in lanes if lane.heads.ready)
        is_alone = self._root.active == len(self._branches) == 1
        if not (cost_us and branch.active) or is_alone:
            return
        turn = self._turn_of(branch)[1]
        self._branches[branch].turn = turn + tag_increment(cost_us, branch.weight)
        ahead = branch.start - turn
        branch.start -= ahead
        branch.service.debt += ahead
        if ahead and branch.key != OUT:
            self._root.put(branch)

    def _count(self, branch: Branch) -> None:
        accounts = self._branches[branch].accounts
        branch.accounts.reserve_blocked = len(accounts)
        if not accounts:
            del self._branches[branch]
            self._root.let_go(branch)
        self._root.reserve_blocked = len(self._branches)


def _is_due(lane: Lane, turn_tag: int) -> bool:
    """Whether a lane has not had its turn since, and will have it."""
    is_free = lane.blocked_by == FREE and lane.queue.blocked_by == FREE
    return is_free and lane.offered and lane.turn_tag == turn_tag


def _next_turn(level: _AnyLevel) -> int:
    """Return V, or the tag of the member whose turn it is if that is more, or `NEVER`."""
    member = level.first()
    return NEVER if member is None else max(level.virtual, member.start)


def _last_turn(_: _AnyLevel) -> int:
    """Return what no tag exceeds."""
    return NEVER
