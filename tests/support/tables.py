"""Tables of terms for tests, without a policy document."""

from collections.abc import Mapping

from fairlead.policy import Glob, glob
from fairlead_scheduler.policy.compiled import CompiledPolicy, QueueTerms, Terms
from fairlead_scheduler.policy.first_match import FirstMatch
from fairlead_scheduler.policy.settings import FairSettings, KeyLimit

Weights = Mapping[tuple[str, str | None], float]
"""Weights of queues, as (queue, None), and of tenants of queues; others have 1."""


def table(
    terms: Mapping[tuple[str, str | None], Terms],
    *,
    keys: Mapping[str, tuple[KeyLimit, ...]] | None = None,
    stored: int = 1,
) -> CompiledPolicy:
    """Return the table of these terms of queues, as (queue, None), and tenants, with keys.

    It names every queue, so that each has its own share, and keeps no slots for short jobs.
    """
    keys = keys or {}
    queues = dict.fromkeys((*(queue for queue, _ in terms), *keys))
    entries: list[tuple[frozenset[str] | Glob, QueueTerms]] = [
        (
            frozenset({queue}),
            QueueTerms(
                own=terms.get((queue, None), Terms()),
                overrides=FirstMatch(
                    (frozenset({tenant}), each)
                    for (name, tenant), each in terms.items()
                    if name == queue and tenant is not None
                ),
                keys=keys.get(queue, ()),
            ),
        )
        for queue in queues
    ]
    return CompiledPolicy(
        queues=FirstMatch((*entries, (glob("*"), QueueTerms()))),
        settings=FairSettings(short=None),
        stored=stored,
    )


def weighing(weights: Weights) -> CompiledPolicy:
    """Return the table of these weights."""
    return table({key: Terms(weight=weight) for key, weight in weights.items()}, stored=0)
