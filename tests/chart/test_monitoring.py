"""Alerts ask for series that there are, and each has its runbook."""

import re
from pathlib import Path
from typing import cast

import pytest
import yaml

from fairlead_worker import series
from tests.support import tree
from tests.support.chart import (
    CHART,
    EVERYTHING,
    GIVEN,
    Object,
    at,
    needs_helm,
    of,
    render,
)

ALERTS = sorted((CHART / "files/alerts").glob("*.yaml"))
RUNBOOKS = tree.ROOT / "docs/runbooks"
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
SERIES = re.compile(r"\bfairlead_\w+")
OUTCOMES = ("succeeded", "failed", "cancelled", "expired")
ENDED_AS = (*OUTCOMES, "snoozed", "returned", "released", "crashed", "lost")
OTHERS = 500
"""Samples that have no kind, with room."""
SUFFIX = re.compile(r"_(?:total|bucket|sum|count)$")


def known_series() -> set[str]:
    """Return the names of the series that the reference lists."""
    page = tree.text(Path("docs/reference/metrics.md"))
    names = re.findall(r"^\| `(fairlead_\w+)`", page, re.MULTILINE)
    return {SUFFIX.sub("", name) for name in names}


def unknown_series(query: str) -> set[str]:
    """Return what a query asks for that no program shows."""
    return {SUFFIX.sub("", name) for name in SERIES.findall(query)} - known_series()


def rules() -> list[Object]:
    """Return the alerts as their files have them."""
    return [cast("Object", yaml.safe_load(path.read_text("utf-8"))) for path in ALERTS]


@pytest.mark.parametrize("path", ALERTS, ids=lambda path: path.stem)
def test_an_alert_says_what_is_wrong_and_for_how_long(path: Path) -> None:
    """One alert is one file of its name, in the namespace that it is installed in."""
    rule = cast("dict[str, str]", yaml.safe_load(path.read_text("utf-8")))

    assert path.stem == rule["alert"]
    assert {"alert", "expr", "for", "labels", "annotations"} == set(rule)
    assert at(cast("Object", rule), "labels", "severity") in {"critical", "warning"}
    assert {"summary", "description"} == set(rule["annotations"])
    assert rule["expr"].count('namespace="$namespace"') == len(SERIES.findall(rule["expr"]))
    assert set() == unknown_series(rule["expr"])


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    """A runbook has the four sections, in their order."""
    pages = {path.stem: path.read_text("utf-8") for path in RUNBOOKS.glob("*.md")}

    assert {path.stem for path in ALERTS} == set(pages)
    assert dict.fromkeys(pages, SECTIONS) == {
        name: re.findall(r"^## (.+)$", text, re.MULTILINE) for name, text in pages.items()
    }


def test_the_series_rule_sees_one_that_is_gone() -> None:
    """A counter's and a histogram's suffixes are no part of the name."""
    query = (
        "rate(fairlead_jobs_started_total[1m]) + fairlead_job_wait_seconds_bucket + fairlead_x"
    )

    assert {"fairlead_x"} == unknown_series(query)


def test_the_largest_page_is_within_the_charts_limit_of_samples() -> None:
    """However many queues, kinds and bounds there are, a scrape of a worker is not refused."""
    values = cast("Object", yaml.safe_load((CHART / "values.yaml").read_text("utf-8")))
    bounds = len(series.JOB_WAIT.bounds) + series.WAIT_BOUNDS_MAX + len(series.JOB_RUN.bounds)
    endings = len(OUTCOMES) + len(ENDED_AS)
    of_a_pair = 1 + endings + bounds + 2 * 3  # +Inf, _sum and _count of two histograms
    pairs = series.PAIRS_MAX + series.QUEUES_MAX + 1

    assert pairs * of_a_pair + OTHERS < int(str(at(values, "metrics", "sampleLimit")))


@needs_helm
def test_the_alerts_are_installed_with_namespace_threshold_and_runbook() -> None:
    """What may be chosen in values: which, their labels, the wait, where runbooks are."""
    chosen: Object = {
        "enabled": True,
        "disabled": ["FairleadManyLeaders"],
        "alertLabels": {"team": "a"},
        "oldestReadySeconds": 1000000,
        "runbookUrl": "https://wiki.example/",
    }
    (made,) = of(render({**GIVEN, "metrics": {"prometheusRule": chosen}}), "PrometheusRule")
    found = cast("list[Object]", at(made, "spec", "groups", 0, "rules"))
    by_name = {str(each["alert"]): each for each in found}

    assert len(ALERTS) - 1 == len(by_name)
    oldest = by_name["FairleadOldestJobWaits"]
    assert str(oldest["expr"]).endswith('{namespace="work"}) > 1000000')
    assert {"severity": "warning", "team": "a"} == oldest["labels"]
    assert "https://wiki.example/FairleadOldestJobWaits.md" == at(
        oldest, "annotations", "runbook_url"
    )
    assert "{{ $labels.queue }}" in str(at(oldest, "annotations", "summary"))


@needs_helm
def test_a_scrape_is_bounded_and_finds_the_health_port() -> None:
    """Samples and labels have limits, and the port has the name of the pods' port."""
    (monitor,) = of(render(EVERYTHING), "PodMonitor")
    endpoint = at(monitor, "spec", "podMetricsEndpoints", 0)

    assert (50000, 40) == (
        at(monitor, "spec", "sampleLimit"),
        at(monitor, "spec", "labelLimit"),
    )
    assert {"port": "health", "path": "/metrics", "interval": "15s"} == endpoint
