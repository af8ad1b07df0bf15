"""What operations may name of the state that a schedule begins with."""

from dataclasses import dataclass, field

from tests.support.race import Lease


@dataclass(frozen=True, slots=True)
class Scene:
    """Two jobs, who had them, and who may take them now."""

    jobs: tuple[int, int]
    epoch: int
    worker: int
    """The one that holds what is held;"""
    other: int
    """one that holds nothing;"""
    last: int
    """and one that no operation names."""
    leases: tuple[Lease, ...] = ()
    pending: tuple[int, ...] = ()
    queued: tuple[int, ...] = ()
    """What was dispatched; receipts may say that it has ended;"""
    finished: tuple[Lease, ...] = ()
    """and what handlers have completed."""
    place: int = 0
    """The last place of a lane."""


@dataclass(slots=True)
class Told:
    """What sides were told by statements whose transactions have committed."""

    dispatched: list[int] = field(default_factory=list[int])
    recalled: list[int] = field(default_factory=list[int])
    promoted: list[int] = field(default_factory=list[int])
    leased: list[Lease] = field(default_factory=list[Lease])
    finished: list[Lease] = field(default_factory=list[Lease])
    epochs: list[int] = field(default_factory=list[int])
    """Those under which leaders have changed something."""

    def add(self, other: "Told") -> None:
        """Take over what another one was told."""
        self.dispatched += other.dispatched
        self.recalled += other.recalled
        self.promoted += other.promoted
        self.leased += other.leased
        self.finished += other.finished
        self.epochs += other.epochs

    def clear(self) -> None:
        """Forget everything."""
        for each in (self.dispatched, self.recalled, self.promoted, self.epochs):
            each.clear()
        self.leased.clear()
        self.finished.clear()
