"""Sentences about attributes of jobs that a simulation draws or does not know."""

from collections.abc import Iterable, Sequence

from fairlead_scheduler.simulation.fleet_state import FleetState
from fairlead_scheduler.simulation.job_samples import AttributesWanted, JobSampler
from fairlead_scheduler.simulation.trace import Arrival

_QUEUES_MAX = 5


def live_notes(
    state: FleetState, sampler: JobSampler | None, arriving: Iterable[str]
) -> tuple[str, ...]:
    """Return what is drawn, and of which queues nothing is known; `arriving` have arrivals."""
    read = state.read
    if read is None or sampler is None:
        return ()
    asked, queues = read.wanted.queues, read.wanted.all_queues
    waiting = {key: each for key, each in state.waiting.items() if key[0] in queues}
    jobs = sum(each.jobs for each in waiting.values())
    more = any(each.more for each in waiting.values())
    known = sum(map(len, read.first.values()))
    present = {*arriving, *(row.queue for row in state.rows), *(key[0] for key in waiting)}
    if not asked and known == jobs:
        return ()
    note = (
        f"{'kinds and keys' if asked else 'kinds'} are read of {known:,} of "
        f"{jobs:,}{'+' if more else ''} waiting jobs; the others' are drawn from their "
        "tenant's"
    )
    return (note, *_unknown(sampler, asked & present))


def history_notes(wanted: AttributesWanted, sampler: JobSampler) -> tuple[str, ...]:
    """Return which attributes that policies read are missing in history."""
    return (_past("history"), *_unknown(sampler, wanted.queues))


def file_notes(wanted: AttributesWanted, trace: Sequence[Arrival]) -> tuple[str, ...]:
    """Return which attributes that policies read are missing in a trace."""
    keys = [dict(job.keys) for job in trace if job.queue in wanted.queues]
    missing = {key: sum(key not in each for each in keys) for key in wanted.keys}
    return (
        _past("the file"),
        *(
            f"{count:,} of {len(keys):,} jobs do not state {key}, so no such key limits them: "
            f"`fairlead trace export --key {key}` adds it"
            for key, count in missing.items()
            if count
        ),
    )


def _past(source: str) -> str:
    return (
        f"kinds and keys are those of {source}, which has no deadlines; attempts are first ones"
    )


def _unknown(sampler: JobSampler, queues: Iterable[str]) -> list[str]:
    unknown = sorted(queue for queue in queues if not sampler.has_samples_of(queue))
    more = f" and {len(unknown) - _QUEUES_MAX} more" if len(unknown) > _QUEUES_MAX else ""
    named = ", ".join(f"'{queue}'" for queue in unknown[:_QUEUES_MAX])
    if not unknown:
        return []
    return [
        f"nothing is known of the jobs of queue {named}{more}: keys and job rules block none"
    ]
