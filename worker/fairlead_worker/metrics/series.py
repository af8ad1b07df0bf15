"""Every series of the worker, named once.

Those of `OF_CHILDREN` are counted by the child processes and added up by the parent; the parent
itself has the others.
"""

from collections.abc import Iterable

from fairlead.metrics.series import BUILD_INFO, Series, counter, gauge, histogram

QUEUES_MAX = 50
KINDS_MAX = 200
PAIRS_MAX = 750
"""Queues and kinds together: a pair is some fifty samples, which the chart has a limit of."""
OTHER = "other"
"""The label of queues and kinds beyond those numbers: series must stay few."""
WAIT_BOUNDS_MAX = 8
"""How many bounds a setting may add to the histogram of waits."""

_JOB = ("queue", "kind")
_STATEMENT_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1)
_RUN_SECONDS = (
    0.001,
    0.005,
    0.01,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    30,
    60,
    120,
    300,
    900,
    1800,
)
_WAIT_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 1800, 3600)
_BATCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500)

JOBS_STARTED = counter("jobs_started_total", "Attempts whose handler started.", *_JOB)
JOBS_FINISHED = counter(
    "jobs_finished_total",
    "Jobs that were finished: succeeded, failed, cancelled or expired.",
    *_JOB,
    "outcome",
)
ATTEMPTS_ENDED = counter(
    "attempts_ended_total",
    "Attempts that ended: succeeded, failed, cancelled, expired, snoozed, returned (not "
    "started), released (cut short unpunished), crashed (its process died), unhandled (no "
    "handler for its kind).",
    *_JOB,
    "ended_as",
)
JOB_WAIT = histogram(
    "job_wait_seconds",
    "From falling due to the handler's start; a delay that was asked for is not in it. "
    "FAIRLEAD_METRICS_WAIT_BOUNDS adds bounds, such as the pool's objective.",
    _WAIT_SECONDS,
    *_JOB,
)
JOB_RUN = histogram(
    "job_run_seconds", "From the handler's start to its end.", _RUN_SECONDS, *_JOB
)
LOOP_STALLS = counter(
    "loop_stalls_total",
    "Times at which a coroutine kept the event loop from all others for 100 ms or longer.",
    *_JOB,
)
CLAIM_DURATION = histogram(
    "claim_duration_seconds", "How long a claim took.", _STATEMENT_SECONDS
)
CLAIM_BATCH = histogram("claim_batch_size", "Jobs per claim that found some.", _BATCHES)
CLAIM_EMPTY = counter("claim_empty_total", "Claims that found nothing.")
FINISH_DURATION = histogram(
    "finish_duration_seconds",
    "How long storing a batch of endings took.",
    (*_STATEMENT_SECONDS, 2.5),
)
FINISH_BATCH = histogram("finish_batch_size", "Endings per batch.", _BATCHES)
STALE_WRITES = counter(
    "stale_writes_total",
    "Endings that changed nothing, because the attempt had lost its job.",
)
SERIES_DROPPED = counter(
    "series_dropped_total",
    "Names of queues and kinds that are counted as `other` because there are too many.",
)

WORKER_SLOTS = gauge("worker_slots", "Jobs that may run at a time.", "pool")
WORKER_SLOTS_BUSY = gauge("worker_slots_busy", "Jobs that run now.", "pool")
LONGEST_RUNNING = gauge(
    "job_longest_running_seconds", "How long the oldest job that runs has run."
)
JOBS_INTERRUPTED = counter(
    "jobs_interrupted_total",
    "Attempts that were cut short, by how they were handed back.",
    "reason",
)
LEASE_RENEWALS = counter(
    "lease_renewals_total",
    "Renewals of the worker's lease: renewed, dead or failed.",
    "result",
)
LEASES_LOST = counter(
    "leases_lost_total", "Leases that were lost, so that the worker ended its own handlers."
)
CHILD_DEATHS = counter(
    "child_deaths_total",
    "Child processes that died, or that were killed for a job that did not stop.",
)
CRASH_BREAKERS_OPEN = gauge(
    "crash_breakers_open",
    "Kinds of a tenant whose jobs run alone, one at a time, because several have ended the "
    "process that ran them.",
)
CRASH_BREAKER_OPENINGS = counter(
    "crash_breaker_openings_total",
    "How often jobs of one kind of a tenant began to run alone; the log names both.",
)
WORKER_DRAINING = gauge(
    "worker_draining",
    "1 while it takes no more jobs: it is stopping, or its pod is marked.",
)
DRAIN_DURATION = gauge("drain_duration_seconds", "How long it has taken no more jobs.")

OF_CHILDREN: tuple[Series, ...] = (
    *(JOBS_STARTED, JOBS_FINISHED, ATTEMPTS_ENDED, JOB_WAIT, JOB_RUN, LOOP_STALLS),
    *(CLAIM_DURATION, CLAIM_BATCH, CLAIM_EMPTY, FINISH_DURATION, FINISH_BATCH),
    *(STALE_WRITES, SERIES_DROPPED),
)
SERIES: tuple[Series, ...] = (
    *OF_CHILDREN,
    *(WORKER_SLOTS, WORKER_SLOTS_BUSY, LONGEST_RUNNING, JOBS_INTERRUPTED),
    *(LEASE_RENEWALS, LEASES_LOST, CHILD_DEATHS, CRASH_BREAKERS_OPEN),
    *(CRASH_BREAKER_OPENINGS, WORKER_DRAINING, DRAIN_DURATION),
    BUILD_INFO,
)


def bounds(series: Series, waits: Iterable[float] = ()) -> tuple[float, ...]:
    """Return a histogram's bounds; the one of waits has further ones, in seconds."""
    if series != JOB_WAIT:
        return series.bounds
    return tuple(sorted({*series.bounds, *waits}))
