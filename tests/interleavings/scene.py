"""What operations may name of the state that a schedule begins with."""

from dataclasses import dataclass, field

from tests.support.race import Lease

WAITING_TAG = 1000
"""The tag of rows that were dispatched before;"""
NEXT_TAG = 2000
"""and the tags of a plan begin here where nothing waits."""


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

    @property
    def floor(self) -> int:
        """Return where a leader that knows all rows puts the floor."""
        held = {lease.job for lease in self.leases}
        return WAITING_TAG if {*self.queued} - held else NEXT_TAG


@dataclass(slots=True)
class Told:
    """What sides were told by statements whose transactions have committed."""

    dispatched: list[int] = field(default_factory=list[int])
    recalled: list[int] = field(default_factory=list[int])
    promoted: list[int] = field(default_factory=list[int])
    leased: list[Lease] = field(default_factory=list[Lease])
    finished: list[Lease] = field(default_factory=list[Lease])
    checkpointed: list[Lease] = field(default_factory=list[Lease])
    deleted: list[int] = field(default_factory=list[int])
    """Jobs that an application has deleted by hand: nothing is promised of them."""
    epochs: list[int] = field(default_factory=list[int])
    """Those under which leaders have changed something."""
    dispatches: int = 0
    renumberings: int = 0

    @property
    def numbers_mixed(self) -> bool:
        """Return whether a plan may have had tags from before a renumbering.

        A leader numbers tags anew before it plans, and never beside it.
        """
        return bool(self.dispatches and self.renumberings)

    def add(self, other: "Told") -> None:
        """Take over what another one was told."""
        self.dispatched += other.dispatched
        self.recalled += other.recalled
        self.promoted += other.promoted
        self.leased += other.leased
        self.finished += other.finished
        self.checkpointed += other.checkpointed
        self.deleted += other.deleted
        self.epochs += other.epochs
        self.dispatches += other.dispatches
        self.renumberings += other.renumberings

    def clear(self) -> None:
        """Forget everything."""
        for each in (
            self.dispatched,
            self.recalled,
            self.promoted,
            self.deleted,
            self.epochs,
        ):
            each.clear()
        for leases in (self.leased, self.finished, self.checkpointed):
            leases.clear()
        self.dispatches = self.renumberings = 0
