"""What everybody is entitled to, how even that is, and the series that show it."""

from dataclasses import replace
from functools import partial
from math import inf

import pytest
from prometheus_client import CollectorRegistry

from fairlead_scheduler.fairness_metrics import FairnessMetrics
from fairlead_scheduler.report import Had, QueueShare
from fairlead_scheduler.shares import entitled, jain
from tests.support.reports import report, share


@pytest.mark.parametrize(
    ("amount", "wanted", "weights", "expected"),
    [
        (12.0, [inf, inf], [1.0, 3.0], [3.0, 9.0]),
        (12.0, [1.0, inf, inf], [1.0, 1.0, 1.0], [1.0, 5.5, 5.5]),
        (12.0, [1.0, 4.5, inf], [1.0, 1.0, 1.0], [1.0, 4.5, 6.5]),
        (12.0, [2.0, 3.0], [1.0, 1.0], [2.0, 3.0]),
        (12.0, [9.0, 9.0], [1.0, 2.0], [4.0, 8.0]),
        (0.0, [inf, 0.0], [1.0, 1.0], [0.0, 0.0]),
        (12.0, [], [], []),
    ],
)
def test_an_amount_is_shared_by_weight_among_those_who_want_more(
    amount: float, wanted: list[float], weights: list[float], expected: list[float]
) -> None:
    """Weighted max-min fairness."""
    assert expected == entitled(amount, wanted, weights)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 1.0], 1.0),
        ([1.0, 0.0], 0.5),
        ([2.0, 1.0, 0.0], 0.6),
        ([1.0], None),
        ([0, 0], None),
    ],
)
def test_jains_index_says_how_even_values_are(
    values: list[float], expected: float | None
) -> None:
    """(Σx)² / (n Σx²)."""
    assert expected == jain(values)


def shown(registry: CollectorRegistry, series: str, tenant: str) -> float | None:
    """Return what is shown of a tenant."""
    queue = "other" if tenant == "other" else "q"
    return registry.get_sample_value(
        f"fairlead_tenant_{series}", {"queue": queue, "tenant": tenant}
    )


def test_a_queues_lag_is_shown_until_it_has_no_work() -> None:
    """Below zero its tenants are behind."""
    registry = CollectorRegistry()
    metrics = FairnessMetrics(registry, str)
    behind = QueueShare("q", 1.0, Had(0.4, 0.5, 400.0, -100.0), 0.5)

    metrics.show("default", replace(report(), queues=(behind,)))

    lag = partial(registry.get_sample_value, "fairlead_queue_lag_slot_seconds", {"queue": "q"})
    assert -100.0 == lag()
    metrics.show("default", replace(report(), queues=()))
    assert None is lag()


def test_twenty_tenants_have_series_and_the_others_one_together() -> None:
    """Who leaves them vanishes; one that is shown gives way to one a quarter larger only."""
    registry = CollectorRegistry()
    metrics = FairnessMetrics(registry, str)
    tenants = [share(f"t{number}", 100.0 - number) for number in range(25)]

    metrics.show("default", report(*tenants))

    assert (0.1, 0.081, None) == tuple(shown(registry, "share", f"t{n}") for n in (0, 19, 20))
    assert 5 + 7 == shown(registry, "lag_slot_seconds", "other")
    assert 4.0 == shown(registry, "oldest_wait_seconds", "other")
    metrics.show("default", report(*tenants[:20], share("t20", 90.0)))
    assert None is shown(registry, "share", "t20")
    metrics.show("default", report(*tenants[:20], share("t20", 102.0)))
    assert (0.102, None) == tuple(shown(registry, "share", f"t{n}") for n in (20, 19))
    metrics.hide()
    assert None is shown(registry, "share", "t0")


def test_series_of_several_pools_stand_beside_each_other() -> None:
    """A report takes the place of that of its own pool; of tenants the largest have names."""
    registry = CollectorRegistry()
    metrics = FairnessMetrics(registry, str)

    metrics.show("default", report(*(share(f"t{n}", 100.0 - n) for n in range(20))))
    metrics.show("gpu", report(share("g", 200.0)))

    assert (None, 0.2) == tuple(shown(registry, "share", each) for each in ("t19", "g"))
    jains = (
        registry.get_sample_value("fairlead_fairness_jain", {"pool": pool})
        for pool in ("default", "gpu", "other")
    )
    assert [True, True, False] == [each is not None for each in jains]
