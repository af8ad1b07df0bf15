"""The chart installs alerts as the values choose, and scrapes are bounded."""

from dataclasses import replace
from decimal import Decimal
from typing import cast

import pytest
import yaml

from docs.generate import alerts
from docs.generate.alerts import Choice
from fairlead_worker.metrics import series
from tests.support.chart import (
    CHART,
    EVERYTHING,
    GIVEN,
    Json,
    Object,
    at,
    needs_helm,
    of,
    render,
)

OUTCOMES = ("succeeded", "failed", "cancelled", "expired")
ENDED_AS = (*OUTCOMES, "snoozed", "returned", "released", "crashed", "lost")
OTHERS = 500
"""Samples that have no kind, with room."""


def installed(metrics: Object, **values: Object) -> list[Object]:
    """Return the rules that the chart installs with these values."""
    (made,) = of(render({**GIVEN, "metrics": metrics, **values}), "PrometheusRule")
    return cast("list[Object]", at(made, "spec", "groups", 0, "rules"))


def test_the_largest_page_is_within_the_charts_limit_of_samples() -> None:
    """However many queues, kinds and bounds there are, a scrape of a worker is not refused."""
    values = cast("Object", yaml.safe_load((CHART / "values.yaml").read_text("utf-8")))
    bounds = len(series.JOB_WAIT.bounds) + series.WAIT_BOUNDS_MAX + len(series.JOB_RUN.bounds)
    endings = len(OUTCOMES) + len(ENDED_AS)
    of_a_pair = 1 + endings + bounds + 2 * 3  # +Inf, _sum and _count of two histograms
    pairs = series.PAIRS_MAX + series.QUEUES_MAX + 1

    assert pairs * of_a_pair + OTHERS < int(str(at(values, "metrics", "sampleLimit")))


@needs_helm
@pytest.mark.parametrize(
    ("enabled", "flags", "monitors"),
    [
        ("auto", (), 0),
        ("auto", ("--api-versions=monitoring.coreos.com/v1/PodMonitor",), 1),
        (True, (), 1),
        (False, ("--api-versions=monitoring.coreos.com/v1/PodMonitor",), 0),
    ],
)
def test_a_monitor_may_wait_for_a_cluster_that_knows_it(
    enabled: Json, flags: tuple[str, ...], monitors: int
) -> None:
    """`auto` installs on a cluster without the operator too, where `true` has helm refuse."""
    values: Object = {**GIVEN, "metrics": {"podMonitor": {"enabled": enabled}}}

    assert monitors == len(of(render(values, *flags), "PodMonitor"))


@needs_helm
def test_the_alerts_are_installed_with_what_the_values_choose() -> None:
    """Which, their labels, where runbooks are; tests/alerts checks the rest."""
    chosen: Object = {
        "enabled": True,
        "disabled": ["FairleadManyLeaders"],
        "alertLabels": {"team": "a", "severity": "page"},
        "runbookUrl": "https://wiki.example/",
    }
    found = installed({"prometheusRule": chosen})
    by_name = {str(each["alert"]): each for each in found if "alert" in each}

    assert set(alerts.names()) - {"FairleadManyLeaders"} == set(by_name)
    oldest = by_name["FairleadOldestJobWaits"]
    assert {"severity": "page", "team": "a", "namespace": "work"} == oldest["labels"]
    assert "https://wiki.example/FairleadOldestJobWaits.md" == at(
        oldest, "annotations", "runbook_url"
    )
    assert "{{ $labels.queue }}" in str(at(oldest, "annotations", "summary"))


@needs_helm
@pytest.mark.parametrize(
    ("values", "choice"),
    [
        ({}, Choice()),
        (
            {"timeScale": 0.02, "oldestReadySeconds": 1000000, "latePercent": 0.1},
            Choice(
                scale=Decimal("0.02"),
                oldest_ready_seconds=Decimal(1000000),
                late_percent=Decimal("0.1"),
            ),
        ),
    ],
    ids=["usual", "chosen"],
)
def test_the_chart_renders_the_rules_that_others_get_from_python(
    values: Object, choice: Choice
) -> None:
    """Both fill the same files in: expressions, durations, texts, what is recorded."""
    expected = alerts.rules(replace(choice, namespace="work", fullname="shop-fairlead"))

    assert list(expected) == installed({"prometheusRule": {"enabled": True, **values}})


@needs_helm
def test_objectives_are_the_values_where_the_policy_has_none() -> None:
    """Pools with a fixed number of pods have none in the policy; elsewhere the policy wins."""
    pools: Object = {
        "quick": {"queues": ["a"], "autoscale": {"objective": "500ms"}},
        "slow": {"queues": ["b"], "autoscale": {"objective": "1.5h"}},
    }
    fixed = Choice(
        namespace="work",
        fullname="shop-fairlead",
        objectives={"default": Decimal(30), "quick": Decimal("0.5"), "slow": Decimal(5400)},
    )
    rules: Object = {"prometheusRule": {"enabled": True}}

    followed = installed(rules, workerPools=pools)
    chosen = installed(rules, workerPools=pools, autoscaler={"enabled": False})

    usual = Choice(namespace="work", fullname="shop-fairlead")
    assert list(alerts.rules(usual)) == followed
    assert list(alerts.rules(fixed)) == chosen


@needs_helm
def test_a_scrape_is_bounded_and_finds_the_health_port() -> None:
    """Samples and labels have limits, and the port has the name of the pods' port."""
    (monitor,) = of(render(EVERYTHING), "PodMonitor")
    endpoint = at(monitor, "spec", "podMetricsEndpoints", 0)

    assert (50000, 40) == (
        at(monitor, "spec", "sampleLimit"),
        at(monitor, "spec", "labelLimit"),
    )
    assert {
        "port": "health",
        "path": "/metrics",
        "interval": "15s",
        "relabelings": [{"targetLabel": "release", "replacement": "shop"}],
    } == endpoint


@needs_helm
@pytest.mark.parametrize("kind", ["podMonitor", "serviceMonitor"])
def test_series_have_their_releases_label_and_the_rules_ask_for_it(kind: str) -> None:
    """A monitor gives the label; where no monitor does, no rule may ask for it."""
    rules: Object = {"enabled": True, "interval": "30s"}
    made = render({**GIVEN, "metrics": {kind: {"enabled": True}, "prometheusRule": rules}})
    (installed_rules,) = of(made, "PrometheusRule")
    expected = Choice(namespace="work", release="shop", fullname="shop-fairlead")

    assert "30s" == at(installed_rules, "spec", "groups", 0, "interval")
    assert list(alerts.rules(expected)) == at(installed_rules, "spec", "groups", 0, "rules")
    assert not any("release" in str(each) for each in installed({"prometheusRule": rules}))


@needs_helm
def test_a_namespace_of_one_release_may_do_without_the_label() -> None:
    """An empty name asks for none, in the monitor and in the rules."""
    metrics: Object = {
        "releaseLabel": "",
        "podMonitor": {"enabled": True},
        "prometheusRule": {"enabled": True},
    }
    made = render({**GIVEN, "metrics": metrics})
    (monitor,) = of(made, "PodMonitor")

    assert None is at(monitor, "spec", "podMetricsEndpoints", 0, "relabelings")
    assert not any("release=" in str(each) for each in installed(metrics))


@needs_helm
def test_a_monitor_takes_relabelings_of_targets_and_of_samples() -> None:
    """As to drop series that nobody looks at."""
    drop: Object = {
        "sourceLabels": ["__name__"],
        "regex": "fairlead_claim_.*",
        "action": "drop",
    }
    zone: Object = {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"}
    monitor: Object = {"enabled": True, "relabelings": [zone], "metricRelabelings": [drop]}
    (made,) = of(render({**GIVEN, "metrics": {"podMonitor": monitor}}), "PodMonitor")
    endpoint = at(made, "spec", "podMetricsEndpoints", 0)

    assert zone == at(endpoint, "relabelings", 1)
    assert [drop] == at(endpoint, "metricRelabelings")
