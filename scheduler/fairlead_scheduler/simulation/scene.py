"""What a policy is to deal with in a simulation, as values: the same for both policies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairlead_scheduler.simulation.fair import ONLY, Draw, Inheritance
from fairlead_scheduler.simulation.fleet import Begun, Fleet
from fairlead_scheduler.simulation.told import Known
from fairlead_scheduler.simulation.trace import Arrival


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a policy is to deal with."""

    fleet: Fleet
    """Its pools are"""
    pools: tuple[str, ...] = (ONLY,)
    """these, by their places."""
    moves: bool = False
    """Whether one of the policies has another pool serve a queue."""
    jobs: Sequence[Arrival]
    """What is in `work_queue` at the start, and then what comes."""
    until_us: int
    inherited: Inheritance
    begun: Begun
    known: Known | None = None
    """What is known of single jobs; None: nothing, or nothing is asked of them."""
    notes: tuple[str, ...] = ()
    """What is to be said of that, in sentences."""
    draws: Callable[[], Draw]
    """Makes the source of run times anew."""
