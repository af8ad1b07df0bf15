"""What shares are computed from: who was served since the last look, and what is in flight."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairlead_scheduler.pending.values import Paused
from tests.simulation.world import World
from tests.support.fleet import Job
from tests.support.law import Law
from tests.support.simulated_jobs import MS

SEEN_US = 300 * MS
"""Within so long a job is seen, late commits too."""


@dataclass(slots=True)
class Watched:
    """A world as `Evenness` wants to see it."""

    world: World
    served: list[tuple[Job, int]] = field(default_factory=list[tuple[Job, int]])
    went: list[Job] = field(default_factory=list[Job])
    slots: dict[str, int] = field(default_factory=dict[str, int])
    seen_us: int = 0
    """What came before is known to the leader from then on."""

    @property
    def now_us(self) -> int:
        """Simulated time."""
        return self.world.clock.now_us

    @property
    def jobs(self) -> Mapping[int, Job]:
        """All jobs there were."""
        return self.world.database.known

    @property
    def work(self) -> Mapping[int, Job]:
        """What is in `work_queue`."""
        return self.world.database.work

    @property
    def paused(self) -> Paused:
        """What is paused."""
        return self.world.database.paused

    def due_us(self, job: Job, law: Law, band: int) -> int:
        """Return from when on a job may go in a band, and certainly has been seen."""
        own = law.band(job.queue, job.rank)
        if band > own:
            return 1 << 62
        seen_us = max(job.arrived_us, self.seen_us) + SEEN_US
        return seen_us + sum(law.waits_us[band + 1 : own + 1]) if band < own else 0
