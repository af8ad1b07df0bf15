"""What is to be said of what is not known of single jobs, in sentences."""

from collections.abc import Iterable, Sequence

from fairlead_scheduler.simulation.situation import Situation
from fairlead_scheduler.simulation.told import Known, Wanted
from fairlead_scheduler.simulation.trace import Arrival

_QUEUES_MAX = 5


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


def history_notes(wanted: Wanted, known: Known) -> tuple[str, ...]:
    """Return what history does not say of what policies ask."""
    return (_past("history"), *_unknown(known, wanted.queues))


def file_notes(wanted: Wanted, trace: Sequence[Arrival]) -> tuple[str, ...]:
    """Return what the lines of a trace do not say of what policies ask."""
    asked = [dict(job.keys) for job in trace if job.queue in wanted.queues]
    silent = {key: sum(key not in said for said in asked) for key in wanted.keys}
    return (
        _past("the file"),
        *(
            f"{count:,} of {len(asked):,} jobs do not say {key}, and no such key holds them: "
            f"`fairlead trace export --key {key}` writes it"
            for key, count in silent.items()
            if count
        ),
    )


def _past(source: str) -> str:
    return (
        f"kinds and keys are those of {source}, which has no deadlines; attempts are the first"
    )


def _unknown(known: Known, queues: Iterable[str]) -> list[str]:
    unknown = sorted(queue for queue in queues if not known.of_queue(queue))
    more = f" and {len(unknown) - _QUEUES_MAX} more" if len(unknown) > _QUEUES_MAX else ""
    named = ", ".join(f"'{queue}'" for queue in unknown[:_QUEUES_MAX])
    if not unknown:
        return []
    return [
        f"nothing is known of jobs of queue {named}{more}: keys and rules hold none of them"
    ]
