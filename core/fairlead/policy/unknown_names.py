"""What a policy says about queues and tenants, held against those that a database has."""

from collections.abc import Iterator
from dataclasses import dataclass

from fairlead.policy.document import Path
from fairlead.policy.globs import glob
from fairlead.policy.models import Policy
from fairlead.policy.refusal import field
from fairlead.policy.value_types import display

_WARNINGS_MAX = 20
"""At most so many warnings are shown."""
_PAIRS_MAX = 1_000_000
"""Above so many comparisons of queues and pools' patterns, that check is skipped."""


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Which names there are."""

    waiting: frozenset[str]
    """Queues with unfinished jobs, or the first of very many."""
    queues: frozenset[str] | None
    """Queues of jobs and schedules; None: there are too many to tell that one is none."""
    tenants: frozenset[str] | None
    """The same of tenants."""


def find_unknown(policy: Policy, known: KnownNames) -> tuple[str, ...]:
    """Return a sentence for each queue that no pool serves, and each name that nobody has.

    The first twenty. Where there is no job and no schedule yet, names are no mistake.
    """
    found = [*_unserved(policy, known.waiting)]
    if known.queues:
        found += [
            f"{where}: queue {display(name)} has no job and no schedule, and none of the jobs "
            "that ended last was in it: check how it is spelt"
            for where, name in _names(_queues(policy))
            if name not in known.queues
        ]
    if known.tenants:
        found += [
            f"{where}: tenant {display(name)} has no job and no schedule, and none of the jobs "
            "that ended last was its own: check how it is spelt"
            for where, name in _names(_tenants(policy))
            if name not in known.tenants
        ]
    if len(found) > _WARNINGS_MAX:
        more = len(found) - _WARNINGS_MAX
        return (*found[:_WARNINGS_MAX], f"there are {more} more like these")
    return tuple(found)


def _unserved(policy: Policy, waiting: frozenset[str]) -> Iterator[str]:
    """Find queues with jobs that no pool serves."""
    patterns = sum(len(pool.queues) for pool in policy.pools)
    if not patterns or patterns * len(waiting) > _PAIRS_MAX:
        return
    for queue in sorted(waiting):
        if policy.pool_of(queue) is None:
            yield (
                f"pools: none serves queue {display(queue)}, which has jobs: they wait until "
                "one names it"
            )


def _names(written: Iterator[tuple[Path, str]]) -> Iterator[tuple[str, str]]:
    """Yield the first place of each name; a pattern may be for names to come."""
    seen: set[str] = set()
    for path, name in written:
        if name not in seen and glob(name).head == name:
            seen.add(name)
            yield field(path), name


def _queues(policy: Policy) -> Iterator[tuple[Path, str]]:
    for place, rule in enumerate(policy.queues):
        yield ("queues", place, "match", "queue"), rule.match.queue
    for place, each in enumerate(policy.rules):
        if each.match is not None and each.match.queue is not None:
            yield ("rules", place, "match", "queue"), each.match.queue
    for place, pool in enumerate(policy.pools):
        for entry, name in enumerate(pool.queues):
            yield ("pools", place, "queues", entry), name


def _tenants(policy: Policy) -> Iterator[tuple[Path, str]]:
    for place, rule in enumerate(policy.queues):
        for entry, override in enumerate(rule.tenants.overrides):
            if override.match.tenant is not None:
                path = ("queues", place, "tenants", "overrides", entry, "match", "tenant")
                yield path, override.match.tenant
    for place, each in enumerate(policy.rules):
        if each.match is not None and each.match.tenant is not None:
            yield ("rules", place, "match", "tenant"), each.match.tenant
    for name in policy.labels:
        yield ("labels", name), name
