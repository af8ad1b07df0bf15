"""What queries are put together from.

Every series is asked for within what the variables choose; what rules record has no job.
Counters are summed over processes; of a gauge that only a leader shows, the highest is taken,
for two may show it while the lead changes.
"""

SCOPE = 'namespace=~"$namespace", job=~"$job"'
"""What every query of what processes show asks for."""
_RECORDED = 'namespace=~"$namespace|"'
QUEUE, POOL, INSTANCE = (f'{name}=~"${name}"' for name in ("queue", "pool", "instance"))
FAILED = 'ended_as=~"failed|crashed|lost"'
RUNNING = 'state="running"'
WAITING = 'state=~"pending|queued"'
_SECONDS = {"5m": "300", "30m": "1800", "1h": "3600", "6h": "21600", "$__range": "$__range_s"}


def series(name: str, *where: str) -> str:
    """Return the series of a name within the scope, and whatever else it has to be."""
    return f"{name}{{{', '.join((SCOPE, *where))}}}"


def rate(name: str, by: str, *where: str) -> str:
    """Return how much a counter grew a second; its name without `_total`."""
    return _summed(f"rate({series(f'{name}_total', *where)}[$__rate_interval])", by)


def grown(name: str, within: str, by: str, *where: str) -> str:
    """Return by how much a counter grew within a time, such as `$__range` or `1h`."""
    return _summed(f"increase({series(f'{name}_total', *where)}[{within}])", by)


def grown_or_begun(name: str, within: str, by: str, *where: str) -> str:
    """Return by how much counters grew within a time, what new ones were born with included.

    A series with labels is born with what was counted first, which is no growth to Prometheus:
    a pod that starts one job and goes would never have started any. Where it is new in a
    process of which everything was seen, all of it is new, also after the pod has gone; in any
    other process it may be of long ago.

    Args:
        name: The counter's, without `_total`.
        within: `5m`, `30m`, `1h`, `6h` or `$__range`.
        by: The labels that are kept; empty: none.
        where: What else it has to be.
    """
    return _summed(_more(series(f"{name}_total", *where), within), by)


def _more(found: str, within: str) -> str:
    """Return by how much each series grew within a time, or with what it was born."""
    seen, known = f"last_over_time({found}[{within}])", f"{found} offset {within}"
    born = f"{seen} unless {known} and on (job, instance) {_watched(within)}"
    return f"({born}) or increase({found}[{within}])"


def _watched(within: str) -> str:
    """Return the processes that were looked at before that time, or have begun since."""
    there, began = series("fairlead_build_info"), series("process_start_time_seconds")
    new = f"last_over_time({began}[{within}]) > time() - {_SECONDS[within]}"
    return f"group by (job, instance) ({there} offset {within} or on (job, instance) {new})"


def quantile(part: float, name: str, by: str, *where: str) -> str:
    """Return what this part of a histogram's observations stayed below."""
    rates = f"rate({series(f'{name}_bucket', *where)}[$__rate_interval])"
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({part}, sum by ({labels}) ({rates}))"


def mean(name: str, by: str, *where: str) -> str:
    """Return the mean of what a histogram observed; nothing where it observed nothing."""
    summed, counted = (
        _summed(f"rate({series(f'{name}_{part}', *where)}[$__rate_interval])", by)
        for part in ("sum", "count")
    )
    return f"{summed} / ({counted} > 0)"


def highest(name: str, by: str, *where: str) -> str:
    """Return a gauge that one process shows, be it the leader or whoever has most."""
    return f"max by ({by}) ({series(name, *where)})" if by else f"max({series(name, *where)})"


def total(name: str, by: str, *where: str) -> str:
    """Return the sum of a gauge that each process shows for itself."""
    return _summed(series(name, *where), by)


def in_time(within: str) -> str:
    """Return which part of what started within a time had waited within the objective.

    As the alerts count it, by the objective of each pool, where their rules are installed and
    the policy has one; else by the bucket that is chosen. Nothing where nothing started.
    """
    return f"({in_time_by_pools(within)} or {in_time_by_choice(within)})"


def in_time_by_pools(within: str) -> str:
    """Return it by the objectives of the pools: nothing without the rules that record it."""
    late = f"sum_over_time({recorded('fairlead:starts_late:rate5m', QUEUE)}[{within}])"
    every = f"sum_over_time({recorded('fairlead:starts:rate5m', QUEUE)}[{within}])"
    return f"1 - sum({late}) / (sum({every} and {late}) > 0)"


def in_time_by_choice(within: str) -> str:
    """Return it by the bucket that is chosen, for all pools."""
    name = "fairlead_job_wait_seconds"
    good = _more(series(f"{name}_bucket", QUEUE, OBJECTIVE), within)
    every = _more(series(f"{name}_count", QUEUE), within)
    return f"sum({good}) / (sum({every}) > 0)"


def late() -> str:
    """Return how many jobs a second start late, by queue; counted as `in_time` does."""
    every, good = (
        f"sum by (queue) (rate({series(f'fairlead_job_wait_seconds_{part}', *where)}"
        "[$__rate_interval]))"
        for part, where in (("count", (QUEUE,)), ("bucket", (QUEUE, OBJECTIVE)))
    )
    by_pools = f"sum by (queue) ({recorded('fairlead:starts_late:rate5m', QUEUE)})"
    return f"{by_pools} or {every} - {good}"


def against_objective(wait: str) -> str:
    """Return waits by queue over how long their jobs may wait: above 1 is too long.

    That is the objective of the queue's pool, as the alerts take it; without their rules, or
    where nothing is known of the queue, the one that is chosen.
    """
    known = f"max by (queue) ({recorded('fairlead:queue_objective:seconds', QUEUE)})"
    return f"({wait} / on (queue) {known} or {wait} / $objective)"


OBJECTIVE = 'le=~"$objective"'
"""The bucket of the wait histogram that ends at the objective."""


def recorded(name: str, *where: str) -> str:
    """Return what a rule records; one that was made for one installation says not which."""
    return f"{name}{{{', '.join((_RECORDED, *where))}}}"


def burnt(within: str) -> str:
    """Return how many times faster than allowed the error budget was spent within a time."""
    return f"(1 - {in_time(within)}) / (1 - $target)"


def else_zero(expr: str) -> str:
    """Return 0 where a query finds nothing, because nothing is the good answer."""
    return f"({expr} or vector(0))"


def _summed(expr: str, by: str) -> str:
    return f"sum by ({by}) ({expr})" if by else f"sum({expr})"
