"""What is to be said of what is not known of single jobs, in sentences."""

from collections.abc import Iterable

from fairlead_scheduler.simulation.situation import Situation
from fairlead_scheduler.simulation.told import Known

_QUEUES_MAX = 5
_OF_A_FILE = (
    "a file of a trace says neither kinds nor keys: concurrency and rules for single jobs hold "
    "nobody here"
)


def live_notes(
    situation: Situation, known: Known | None, coming: Iterable[str]
) -> tuple[str, ...]:
    """Return what is drawn, and of which queues nothing is known; `coming` have arrivals."""
    read = situation.read
    if read is None or known is None:
        return ()
    asked, those = read.wanted.queues, read.wanted.all_queues
    waiting = {key: each for key, each in situation.waiting.items() if key[0] in those}
    jobs = sum(each.jobs for each in waiting.values())
    more = any(each.more for each in waiting.values())
    told = sum(map(len, read.first.values()))
    there = {*coming, *(row.queue for row in situation.rows), *(key[0] for key in waiting)}
    if not asked and told == jobs:
        return ()
    said = (
        f"{'kinds and keys' if asked else 'kinds'} are read of {told:,} of "
        f"{jobs:,}{'+' if more else ''} jobs that wait; what the others have is drawn from "
        "their tenant's"
    )
    return (said, *_unknown(known, asked & there))


def recorded_notes(situation: Situation, known: Known | None) -> tuple[str, ...]:
    """Return what recorded traffic does not say of what policies ask."""
    read = situation.read
    if read is None or not read.wanted.queues:
        return ()
    if known is None:
        return (_OF_A_FILE,)
    said = "kinds and keys are those of history, which has no deadlines; attempts are the first"
    return (said, *_unknown(known, read.wanted.queues))


def _unknown(known: Known, queues: Iterable[str]) -> list[str]:
    unknown = sorted(queue for queue in queues if not known.of_queue(queue))
    more = f" and {len(unknown) - _QUEUES_MAX} more" if len(unknown) > _QUEUES_MAX else ""
    named = ", ".join(f"'{queue}'" for queue in unknown[:_QUEUES_MAX])
    if not unknown:
        return []
    return [
        f"nothing is known of jobs of queue {named}{more}: keys and rules hold none of them"
    ]
