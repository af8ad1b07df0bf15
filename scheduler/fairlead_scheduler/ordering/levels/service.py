"""What a member of a level has had of its slots, as virtual time counts it."""

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from fairlead_scheduler.ordering.levels.virtual_time import VirtualTime

OUT = -1
"""The key of a member that is in no heap."""
NEW, EXPECTED, PREFERRED, GUEST, KNOWN = range(5)
"""Where a member stands: it has not waited yet; it has its place among the newcomers; or among
those with several jobs; it has had a turn, and may be a name without more; it is known."""


class Service:
    """What a member has had of its level's slots."""

    __slots__ = (
        "attained",
        "behind_at_turn",
        "competes",
        "debt",
        "held",
        "known_us",
        "leaves_at",
        "lifted",
        "put_off",
        "running",
        "since_us",
        "standing",
    )

    def __init__(self, attained: int) -> None:
        self.attained = attained
        """The attained tag A, as of `since_us`."""
        self.since_us = 0
        """Until when A counts the time of running jobs."""
        self.running = 0
        """Its jobs that have been claimed and have not ended."""
        self.competes = False
        """Whether A is part of the mean that is V."""
        self.leaves_at = OUT
        """Its entry among those that compete and do not wait, or `OUT`."""
        self.standing = NEW
        """What it is to those that compete."""
        self.known_us = 0
        """Since when it is known."""
        self.put_off = False
        """Whether it was let in at the newcomers' rate, and does not compete yet."""
        self.held = False
        """Whether it goes on waiting for its first turn while the reserve blocks it."""
        self.debt = 0
        """By how much its start tag is below S, for the first turn since it began to wait."""
        self.lifted = 0
        """By how much its start tag is above S, because it was lifted with V while the reserve
        for short jobs blocked it. It has had nothing for that, so A is without it."""
        self.behind_at_turn = 0
        """How far S was behind V when it had its last turn."""


class Member(Protocol):
    """What has tags at a level: an account or a branch."""

    start: int
    """The start tag S."""
    weight: float
    index: int
    """Its place among the members of its level."""
    service: Service


M = TypeVar("M", bound=Member)


def tag_increment(cost: int, weight: float) -> int:
    """Return by how much a cost moves the tag of a member of this weight."""
    return cost if weight == 1.0 else round(cost / weight)


def lift(member: Member, tags: int) -> None:
    """Move a member's place in the order on, and neither S nor A.

    If A moved while the member competes, V would follow, and lift it again: V would run away
    from what anybody has had.
    """
    member.start += tags
    member.service.lifted += tags


def settle_lift(member: Member, virtual: int) -> None:
    """Let S of a member that begins to compete be V at least, as far as it was lifted."""
    service = member.service
    if service.lifted:
        behind = virtual - (member.start + service.debt - service.lifted)
        settled = min(service.lifted, max(0, behind))
        service.lifted -= settled
        service.attained += settled


def attained_by(member: Member, at_us: int) -> int:
    """Return A of a member as of a time that is not before the last at which it was counted."""
    service = member.service
    passed_us = at_us - service.since_us
    return service.attained + tag_increment(service.running * passed_us, member.weight)


class NewService:
    """Service of a member that its level does not know of."""

    __slots__ = ("begun", "begun_us", "had_us")

    def __init__(self) -> None:
        self.begun = 0
        """How many more jobs run than before."""
        self.begun_us = 0
        """The sum of the times at which these were claimed."""
        self.had_us = 0
        """What jobs have had that run no longer."""

    def end(self, claimed_us: int) -> None:
        """Note that a job runs no longer."""
        self.begun -= 1
        self.begun_us -= claimed_us

    def add(self, other: "NewService") -> None:
        """Count another member's as well."""
        self.begun += other.begun
        self.begun_us += other.begun_us
        self.had_us += other.had_us

    def count(self, time: "VirtualTime[M]", member: M, now_us: int) -> None:
        """Let the level know; it must have been brought to this time."""
        time.serve(member, self.begun, self.begun * now_us - self.begun_us + self.had_us)
        self.begun = self.begun_us = self.had_us = 0
