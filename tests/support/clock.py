"""Members of a level that wait from the start, and their clock."""

from dataclasses import dataclass, field

from fairlead_scheduler.ordering.levels.service import Service
from fairlead_scheduler.ordering.levels.virtual_time import VirtualTime

LATE = 1 << 60
"""A tag behind all others."""
MS = 1000


@dataclass(eq=False)
class Member:
    """A member of a level."""

    weight: float = 1.0
    start: int = 0
    index: int = 0
    service: Service = field(default_factory=lambda: Service(0))


class Bench:
    """Members that wait from the start, and their clock."""

    def __init__(self, *weights: float) -> None:
        self.members = [Member(weight, index=place) for place, weight in enumerate(weights)]
        self.time: VirtualTime[Member] = VirtualTime(self.members, 100 * MS)
        for member in self.members:
            self.time.enter(member, LATE, has_several=True)

    def add(self, weight: float = 1.0, *, start: int = 0) -> Member:
        """Return another member, which does not wait."""
        member = Member(weight, start, len(self.members), Service(start))
        self.members.append(member)
        return member

    def acquaint(self) -> None:
        """Let those that wait be known, and the level be no new one."""
        self.time.pass_to(1)
        self.time.pass_to(1000 * MS)
        for member in self.members:
            self.time.begin_turn(member)

    def serve(self, place: int, run_us: int) -> None:
        """Let a member have one job, charged as what it ran."""
        member = self.members[place]
        member.start += self.time.begin_turn(member)
        self.time.charge(member, run_us)
        self.time.serve(member, 0, run_us)
        self.time.follow()
