"""Past traffic to be played again: of history or of a trace, with what is known of its jobs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairlead_scheduler.simulation.notes import file_notes, history_notes
from fairlead_scheduler.simulation.situation import Ended, Situation
from fairlead_scheduler.simulation.told import Known, Wanted, known_of_trace
from fairlead_scheduler.simulation.trace import Arrival


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Past traffic."""

    jobs: Sequence[Arrival]
    """In the order of arrivals."""
    known: Known | None = None
    """What is known of single jobs; None: nothing is asked of them."""
    notes: tuple[str, ...] = ()
    """What is to be said of that, in sentences."""


def of_history(situation: Situation, seed: int) -> Recorded:
    """Return what became runnable lately and has ended, from the first on."""
    begun_us = situation.now_us - situation.known_us
    past = sorted((each for each in situation.ended if each.runnable_us >= begun_us), key=_when)
    jobs = [
        Arrival(
            each.runnable_us - past[0].runnable_us,
            *each.lane,
            each.cost_us,
            priority=each.priority,
        )
        for each in past
    ]
    wanted = _wanted(situation)
    if situation.read is None or wanted is None:
        return Recorded(jobs=jobs)
    told = ((place, each.told) for place, each in enumerate(past))
    places = {place: found for place, found in told if found is not None}
    known = Known(replace(situation.read, first={}), places=places, seed=seed)
    return Recorded(jobs=jobs, known=known, notes=history_notes(wanted, known))


def of_trace(situation: Situation, trace: Sequence[Arrival]) -> Recorded:
    """Return those jobs of a trace whose queues are simulated, with what it says of them."""
    jobs = [job for job in trace if job.queue in situation.concerned.queues]
    wanted = _wanted(situation)
    if wanted is None:
        return Recorded(jobs=jobs)
    return Recorded(
        jobs=jobs,
        known=known_of_trace(jobs, wanted),
        notes=file_notes(wanted, jobs),
    )


def _wanted(situation: Situation) -> Wanted | None:
    """Return what policies ask of single jobs; None: nothing."""
    read = situation.read
    return None if read is None or not read.wanted.queues else read.wanted


def _when(past: Ended) -> tuple[object, ...]:
    return past.runnable_us, past[:6]
