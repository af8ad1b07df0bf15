"""What each member is entitled to, how even that is, and the series that show it."""

from dataclasses import replace
from functools import partial
from math import inf

import pytest
from prometheus_client import CollectorRegistry

from fairlead_scheduler.metrics.fairness import FairnessMetrics
from fairlead_scheduler.report.maxmin import jain_index, max_min_shares
from fairlead_scheduler.report.values import QueueShare, ServiceReceived, TenantShare
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
    assert expected == max_min_shares(amount, wanted, weights)


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
    assert expected == jain_index(values)


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
    behind = QueueShare("q", 1.0, ServiceReceived(0.4, 0.5, 400.0, -100.0), 0.5)

    metrics.show("default", replace(report(), queues=(behind,)))

    lag = partial(registry.get_sample_value, "fairlead_queue_lag_slot_seconds", {"queue": "q"})
    assert -100.0 == lag()
    metrics.show("default", replace(report(), queues=()))
    assert None is lag()


def test_twenty_tenants_have_series_and_the_others_one_together() -> None:
    """A tenant that leaves them vanishes; only one a quarter larger replaces a shown one."""
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


LARGE = [share(f"t{number}", 100.0 - number) for number in range(25)]


def named(registry: CollectorRegistry) -> set[str]:
    """Return the tenants that have series of their own."""
    return {
        sample.labels["tenant"]
        for family in registry.collect()
        if family.name == "fairlead_tenant_share"
        for sample in family.samples
    } - {"other"}


@pytest.mark.parametrize(
    "starved",
    [share("starved", 0.0, waits=9000.0), share("starved", 0.0, lag=-200.0)],
    ids=["waits", "behind"],
)
def test_who_had_nothing_and_waits_or_is_behind_has_series(starved: TenantShare) -> None:
    """However many tenants received more."""
    registry = CollectorRegistry()

    FairnessMetrics(registry, str).show("default", report(*LARGE, starved))

    assert {"starved", *(f"t{n}" for n in range(19))} == named(registry)


def test_half_of_the_named_tenants_had_most_however_long_others_wait() -> None:
    """The rest wait longest and are farthest behind, in equal parts."""
    registry = CollectorRegistry()
    waiting = [share(f"w{n}", 1.0, waits=90.0 - n) for n in range(9)]
    behind = [share(f"b{n}", 1.0, lag=n - 90.0) for n in range(9)]

    FairnessMetrics(registry, str).show("default", report(*LARGE, *waiting, *behind))

    largest = {f"t{n}" for n in range(10)}
    assert {*largest, *(f"{each}{n}" for each in "wb" for n in range(5))} == named(registry)


def test_places_left_by_waits_and_lag_go_to_those_that_received_most() -> None:
    """A tenant that received just what it was entitled to is not behind."""
    registry = CollectorRegistry()
    even = [share(f"even{n}", 0.0, lag=0.0) for n in range(5)]

    FairnessMetrics(registry, str).show("default", report(*even, *LARGE))

    assert {f"t{n}" for n in range(20)} == named(registry)


def test_one_that_waits_gives_way_to_one_that_waits_a_quarter_longer_only() -> None:
    """Two that wait about as long do not take turns."""
    registry = CollectorRegistry()
    metrics = FairnessMetrics(registry, str)
    waiting = [share(f"w{n}", 0.0, waits=100.0 + n) for n in range(6)]

    for waits, expected in ((99.0, False), (120.0, False), (130.0, True)):
        metrics.show("default", report(*LARGE, *waiting[1:], share("w0", 0.0, waits=waits)))
        assert expected == ("w0" in named(registry)), waits


def test_the_order_of_a_report_does_not_say_who_has_series() -> None:
    """Nor does chance, among equals."""
    equal = [share(f"t{number}", 0.0, waits=5.0, lag=-5.0) for number in range(40)]
    found: list[set[str]] = []
    for order in (equal, equal[::-1], equal[20:] + equal[:20]):
        registry = CollectorRegistry()
        FairnessMetrics(registry, str).show("default", report(*order))
        found.append(named(registry))

    assert [20, 20, 20] == list(map(len, found))
    assert found[0] == found[1] == found[2]


def test_series_of_several_pools_stand_beside_each_other() -> None:
    """A report replaces that of its own pool; the largest tenants are named."""
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


def test_a_tenant_that_two_pools_report_has_the_sum_of_both() -> None:
    """Its queue has moved, and what it had in the first pool is still in the window."""
    registry = CollectorRegistry()
    metrics = FairnessMetrics(registry, str)
    others = [share(f"t{n}", 300.0 - n) for n in range(19)]

    metrics.show("default", report(share("moved", 100.0, waits=9.0), *others))
    metrics.show("gpu", report(share("moved", 50.0, waits=5.0)))

    assert pytest.approx(0.15) == shown(registry, "share", "moved")
    assert 9.0 == shown(registry, "oldest_wait_seconds", "moved")
    assert {"moved", *(f"t{n}" for n in range(19))} == named(registry)


def test_a_queue_that_two_pools_report_has_the_sum_of_both() -> None:
    """It has moved, and each pool knows what its tenants had there."""
    registry = CollectorRegistry()
    metrics = FairnessMetrics(registry, str)

    for pool, lag in (("default", -100.0), ("gpu", -20.0)):
        behind = QueueShare("q", 1.0, ServiceReceived(0.4, 0.5, 400.0, lag), 0.5)
        metrics.show(pool, replace(report(), queues=(behind,)))

    assert -120.0 == registry.get_sample_value(
        "fairlead_queue_lag_slot_seconds", {"queue": "q"}
    )
