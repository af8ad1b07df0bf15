"""What is said of a pool's pods and has no effect: warnings, as the stricter bound counts."""

from collections.abc import Iterator

from fairlead.policy.autoscale import Autoscale
from fairlead.policy.document import Path
from fairlead.policy.pools import Pool
from fairlead.policy.refusal import field


def of_fleets(pools: tuple[Pool, ...]) -> Iterator[str]:
    """Find bounds of pods that other bounds leave nothing, a sentence each."""
    for place, pool in enumerate(pools):
        if pool.autoscale is not None:
            path: Path = ("pools", place, "autoscale")
            yield from _of_bounds(pool.autoscale, path)
            yield from _of_zero(pool.autoscale, path)


def _of_bounds(given: Autoscale, path: Path) -> Iterator[str]:
    """Find what lies above the most pods that there may be."""
    most = f"{field((*path, 'max'))} {given.max} goes before it"
    if given.fallback is not None and given.fallback.replicas > given.max:
        where = field((*path, "fallback", "replicas"))
        yield f"{where}: {most}: {given.fallback.replicas} pods are never there"
    for place, schedule in enumerate(given.schedules):
        if schedule.min is not None and schedule.min > given.max:
            where = field((*path, "schedules", place, "min"))
            yield f"{where}: {most}: {schedule.min} pods are never there"
    if given.cost is not None and given.cost.hour_max < given.min * given.cost.pod_hour:
        where = field((*path, "cost", "hourMax"))
        yield f"{where}: it pays for fewer pods than {field((*path, 'min'))} {given.min}"


def _of_zero(given: Autoscale, path: Path) -> Iterator[str]:
    """Find what keeps a pool from zero, and what only counts for one that may go there."""
    if given.min == 0 and given.warm_slots > 0:
        where, floor = field((*path, "warmSlots")), field((*path, "min"))
        yield f"{where}: {given.warm_slots} keep the pool from zero, which {floor} 0 allows"
    if given.min > 0 and "keep" in given.model_fields_set:
        where, floor = field((*path, "keep")), field((*path, "min"))
        yield f"{where}: has no effect: {floor} {given.min} keeps the pool from zero"
