"""Building blocks of the dashboards' queries.

Every query selects series by the dashboard's variables; recorded series have no label `job`.
Counters are summed over processes. Of a gauge that only a leader exports, the highest value is
taken, because two processes may export it while the lead changes.
"""

SCOPE = 'namespace=~"$namespace", job=~"$job"'
"""The matchers of every query of an exported series."""
_RECORDED = 'namespace=~"$namespace|"'
QUEUE, POOL, INSTANCE = (f'{name}=~"${name}"' for name in ("queue", "pool", "instance"))
FAILED = 'ended_as=~"failed|crashed|lost"'
RUNNING = 'state="running"'
WAITING = 'state=~"pending|queued"'
_SECONDS = {"5m": "300", "30m": "1800", "1h": "3600", "6h": "21600", "$__range": "$__range_s"}


def series(name: str, *where: str) -> str:
    """Return the selector of a series within the scope, with further matchers."""
    return f"{name}{{{', '.join((SCOPE, *where))}}}"


def rate(name: str, by: str, *where: str) -> str:
    """Return a counter's growth per second; `name` is without `_total`."""
    return _summed(f"rate({series(f'{name}_total', *where)}[$__rate_interval])", by)


def grown(name: str, within: str, by: str, *where: str) -> str:
    """Return a counter's growth within a time, such as `$__range` or `1h`."""
    return _summed(f"increase({series(f'{name}_total', *where)}[{within}])", by)


def grown_or_begun(name: str, within: str, by: str, *where: str) -> str:
    """Return the growth of counters within a time, including the first value of new series.

    A series with labels first appears with its first counts already in it, which Prometheus
    does not see as growth: a pod that starts one job and leaves would count as none. If the
    series is new in a process that was scraped from the beginning, its whole value is new, even
    after the pod is gone; in any other process it may be old.

    Args:
        name: The counter's name, without `_total`.
        within: `5m`, `30m`, `1h`, `6h` or `$__range`.
        by: The labels to keep; empty: none.
        where: Further matchers.
    """
    return _summed(_more(series(f"{name}_total", *where), within), by)


def _more(found: str, within: str) -> str:
    """Return the growth of each series within a time, or the first value of a new one."""
    seen, known = f"last_over_time({found}[{within}])", f"{found} offset {within}"
    born = f"{seen} unless {known} and on (job, instance) {_watched(within)}"
    return f"({born}) or increase({found}[{within}])"


def _watched(within: str) -> str:
    """Return the processes that were scraped before that time, or have started since."""
    there, began = series("fairlead_build_info"), series("process_start_time_seconds")
    new = f"last_over_time({began}[{within}]) > time() - {_SECONDS[within]}"
    return f"group by (job, instance) ({there} offset {within} or on (job, instance) {new})"


def quantile(part: float, name: str, by: str, *where: str) -> str:
    """Return a quantile of a histogram's observations."""
    rates = f"rate({series(f'{name}_bucket', *where)}[$__rate_interval])"
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({part}, sum by ({labels}) ({rates}))"


def mean(name: str, by: str, *where: str) -> str:
    """Return the mean of a histogram's observations; nothing without observations."""
    summed, counted = (
        _summed(f"rate({series(f'{name}_{part}', *where)}[$__rate_interval])", by)
        for part in ("sum", "count")
    )
    return f"{summed} / ({counted} > 0)"


def highest(name: str, by: str, *where: str) -> str:
    """Return the highest value of a gauge over all processes."""
    return f"max by ({by}) ({series(name, *where)})" if by else f"max({series(name, *where)})"


def total(name: str, by: str, *where: str) -> str:
    """Return the sum of a gauge over all processes."""
    return _summed(series(name, *where), by)


def in_time(within: str) -> str:
    """Return the share of jobs started within a time that had waited within the objective.

    If the alerts' rules are installed and the policy has an objective, this counts as the
    alerts do, by the objective of each pool; otherwise by the selected bucket. Nothing if no
    job started.
    """
    return f"({in_time_by_pools(within)} or {in_time_by_choice(within)})"


def in_time_by_pools(within: str) -> str:
    """Return the share by the pools' objectives; nothing without the recording rules."""
    late = f"sum_over_time({recorded('fairlead:starts_late:rate5m', QUEUE)}[{within}])"
    every = f"sum_over_time({recorded('fairlead:starts:rate5m', QUEUE)}[{within}])"
    return f"1 - sum({late}) / (sum({every} and {late}) > 0)"


def in_time_by_choice(within: str) -> str:
    """Return the share by the selected bucket, for all pools."""
    name = "fairlead_job_wait_seconds"
    good = _more(series(f"{name}_bucket", QUEUE, OBJECTIVE), within)
    every = _more(series(f"{name}_count", QUEUE), within)
    return f"sum({good}) / (sum({every}) > 0)"


def late() -> str:
    """Return how many jobs per second start late, by queue, counted like `in_time`."""
    every, good = (
        f"sum by (queue) (rate({series(f'fairlead_job_wait_seconds_{part}', *where)}"
        "[$__rate_interval]))"
        for part, where in (("count", (QUEUE,)), ("bucket", (QUEUE, OBJECTIVE)))
    )
    by_pools = f"sum by (queue) ({recorded('fairlead:starts_late:rate5m', QUEUE)})"
    return f"{by_pools} or {every} - {good}"


def against_objective(wait: str) -> str:
    """Return waits by queue divided by the objective: above 1 is too long.

    The objective is that of the queue's pool, as in the alerts; without their rules, or if the
    queue's pool is unknown, the selected one.
    """
    known = f"max by (queue) ({recorded('fairlead:queue_objective:seconds', QUEUE)})"
    return f"({wait} / on (queue) {known} or {wait} / $objective)"


OBJECTIVE = 'le=~"$objective"'
"""The bucket of the wait histogram that ends at the objective."""


def recorded(name: str, *where: str) -> str:
    """Return the selector of a recorded series, which may lack the label `namespace`."""
    return f"{name}{{{', '.join((_RECORDED, *where))}}}"


def burnt(within: str) -> str:
    """Return how many times faster than allowed the error budget was used within a time."""
    return f"(1 - {in_time(within)}) / (1 - $target)"


def else_zero(expr: str) -> str:
    """Return a query that gives 0 instead of nothing, where nothing is good."""
    return f"({expr} or vector(0))"


def _summed(expr: str, by: str) -> str:
    return f"sum by ({by}) ({expr})" if by else f"sum({expr})"
