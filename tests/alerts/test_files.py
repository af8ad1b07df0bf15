"""The alerts' files: the fields that each has, and that it queries series that exist."""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import cast

import pytest
import yaml

from docs.generate import alerts
from docs.generate.alerts import Choice, Rule
from docs.generate.metrics import ROOMS
from tests.support import tree
from tests.support.promtool import cases

FILES = sorted((tree.ROOT / alerts.SOURCES / "alerts").glob("*.yaml"))
RUNBOOKS = tree.ROOT / "docs/runbooks"
SECTIONS = ["Meaning", "Impact", "Diagnosis", "Mitigation"]
CHOICE = Choice(namespace="work", objectives={"default": Decimal(30)})

_SERIES = re.compile(
    r"\b(fairlead[_:][\w:]+|up|ALERTS|kube_job_failed)(?:\{([^}]*)\})?(?![\w:({])"
)
_MATCHED = re.compile(r'(\w+)=~?"')
_GROUPED = re.compile(r"\b(?:by|on|group_left) \(([^)]*)\)")
_HISTOGRAM = re.compile(r"_(?:bucket|sum|count)$")
_SCRAPED = frozenset({"namespace", "job", "instance", "container"})
_OF_OTHERS = frozenset({"up", "ALERTS", "kube_job_failed"})
"""Series of Prometheus itself, and of kube-state-metrics."""
_OF_JOBS = frozenset({"job_name", "condition"})
_OF_ALERTS = frozenset({"alertname", "alertstate"})


@cache
def known() -> Mapping[str, frozenset[str]]:
    """Return the labels of every series that a program shows, by its name in a query."""
    return {
        f"{series.full_name}{suffix}": frozenset((*series.labels, *(["le"] if suffix else [])))
        for table in ROOMS.values()
        for series in table
        for suffix in (("_bucket", "_sum", "_count") if series.type == "histogram" else ("",))
    }


@cache
def recorded() -> frozenset[str]:
    """Return what the recording rules are called."""
    return frozenset(str(rule["record"]) for rule in alerts.rules(CHOICE) if "record" in rule)


def wrong_names(expression: str) -> set[str]:
    """Return the series of an expression that no process exports, and labels that they lack."""
    wrong: set[str] = set()
    for name, matchers in _SERIES.findall(expression):
        if name in _OF_OTHERS or name in recorded():
            continue
        has = known().get(name, frozenset[str]())
        labels = set(_MATCHED.findall(matchers)) - _SCRAPED
        wrong |= {name} if name not in known() else {f"{name}.{each}" for each in labels - has}
    return wrong


def wrong_labels(expression: str) -> set[str]:
    """Return labels that are grouped or joined by and that no series of the expression has."""
    named = {name for name, _ in _SERIES.findall(expression)}
    of_jobs = _OF_JOBS if "kube_job_failed" in named else frozenset[str]()
    there: frozenset[str] = _SCRAPED | _OF_ALERTS | of_jobs
    for name in named:
        there |= known().get(name, frozenset[str]())
    if any(":" in name for name in named):
        there |= {"queue", "pool", "le"}
    grouped = {
        each.strip() for found in _GROUPED.findall(expression) for each in found.split(",")
    }
    return grouped - there - {""}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_alert_has_a_severity_a_duration_and_texts(path: Path) -> None:
    """One alert is one file of its name, with a severity, a summary and a description."""
    rule = cast("Rule", yaml.safe_load(path.read_text("utf-8")))
    labels, notes = cast("Rule", rule["labels"]), cast("dict[str, str]", rule["annotations"])

    assert path.stem == rule["alert"]
    assert path.stem.startswith("Fairlead")
    assert {"alert", "expr", "for", "labels", "annotations"} == set(rule)
    assert {"severity"} == set(labels)
    assert labels["severity"] in {"critical", "warning"}
    assert {"summary", "description"} == set(notes)
    assert all(text.endswith(".") for text in notes.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_alert_says_a_window_that_it_asks_for(path: Path) -> None:
    """A sentence about the last three days is about a query of three days."""
    rule = cast("Rule", yaml.safe_load(path.read_text("utf-8")))
    notes = cast("dict[str, str]", rule["annotations"])
    said = set(re.findall(r"within (\$\w+)", " ".join(notes.values())))

    assert said <= set(re.findall(r"\[(\$\w+)[\]:]", str(rule["expr"])))


@pytest.mark.parametrize("name", ["FairleadWaitBudgetShrinks", "FairleadAttemptsFailSteadily"])
def test_what_goes_on_for_days_is_asked_of_three_days_and_six_hours(name: str) -> None:
    """The cases have a day, which a shorter window would pass as well."""
    (path,) = (each for each in FILES if each.stem == name)
    windows = re.findall(r"sum_over_time\([^\[]*\[([^\]]+)\]", path.read_text("utf-8"))

    assert ["$3d", "$3d", "$6h", "$6h", "$6h:$1m"] == windows


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_alert_names_the_queue_or_the_pool_that_it_is_about(path: Path) -> None:
    """Its queue, else its pool, stands in the summary; every label in what it says."""
    rule = cast("Rule", yaml.safe_load(path.read_text("utf-8")))
    notes = cast("dict[str, str]", rule["annotations"])
    fired = {label for case in cases(path.stem) for each in case.fires for label in each.labels}
    said = set(re.findall(r"\{\{ \$labels\.(\w+) \}\}", " ".join(notes.values())))
    first = next((label for label in ("queue", "pool") if label in fired), None)

    assert fired == said
    assert first is None or f"$labels.{first}" in notes["summary"]


@pytest.mark.parametrize(
    "rule", alerts.rules(CHOICE), ids=lambda rule: next(iter(rule.values()))
)
def test_a_rule_queries_series_that_exist(rule: Rule) -> None:
    """Names and labels are those of the programs, and all of one installation."""
    expression = str(rule["expr"])
    asked = _SERIES.findall(expression)

    assert asked
    assert set() == wrong_names(expression) | wrong_labels(expression)
    assert [] == [name for name, matchers in asked if 'namespace="work"' not in matchers]
    assert "$" not in expression


@pytest.mark.parametrize(
    "rule",
    alerts.rules(replace(CHOICE, release="shop")),
    ids=lambda rule: next(iter(rule.values())),
)
def test_a_rule_of_a_release_queries_the_series_of_that_release_alone(rule: Rule) -> None:
    """Two releases in one namespace are two installations."""
    asked = _SERIES.findall(str(rule["expr"]))
    scope = 'namespace="work", release="shop"'

    others = {"kube_job_failed"}
    assert [] == [
        name for name, matchers in asked if scope not in matchers and name not in others
    ]
    assert not any("release" in matchers for name, matchers in asked if name in others)
    assert {"namespace": "work", "release": "shop"}.items() <= cast(
        "Rule", rule["labels"]
    ).items()


def test_alerts_that_others_are_silent_beside_are_alerts() -> None:
    """A name that is misspelt would silence nothing."""
    named = {name for rule in alerts.rules(CHOICE) for name in alerts.causes(rule)}

    assert named
    assert set() == named - set(alerts.names())


def test_no_two_alerts_are_silent_beside_each_other() -> None:
    """Of two about the same fault, one fires."""
    beside = {
        str(rule["alert"]): alerts.causes(rule)
        for rule in alerts.rules(CHOICE)
        if "alert" in rule
    }

    assert [] == [
        (one, other)
        for one, causes in beside.items()
        for other in causes
        if one in beside[other]
    ]


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    """A runbook has the four sections, in their order, and the alert's name for a title."""
    pages = {path.stem: path.read_text("utf-8") for path in RUNBOOKS.glob("Fairlead*.md")}

    assert set(alerts.names()) == set(pages)
    assert dict.fromkeys(pages, SECTIONS) == {
        name: re.findall(r"^## (.+)$", text, re.MULTILINE) for name, text in pages.items()
    }
    assert [] == [name for name, text in pages.items() if not text.startswith(f"# {name}\n")]


def test_durations_and_values_are_those_that_were_chosen() -> None:
    """Each duration is scaled and rounded up; at 1 it stays as it was written."""
    tenth = Choice(scale=Decimal("0.01"), oldest_ready_seconds=Decimal(7))
    text, usual = alerts.render(tenth), alerts.render()

    assert "[5m]" in usual
    assert "[5m]" not in text
    assert "[3s]" in text
    assert "for: 1s" in text  # a minute
    assert "for: 2m" not in text
    assert "> 15 + 1 " in text
    assert "> 7 " in text


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("rate(fairlead_jobs_started_total[1m]) + fairlead_x", {"fairlead_x"}),
        ('fairlead_queue_depth{pool="a"}', {"fairlead_queue_depth.pool"}),
        ("fairlead_job_wait_seconds", {"fairlead_job_wait_seconds"}),
        ('fairlead_job_wait_seconds_bucket{le="1.0"} + fairlead:starts:rate5m', set[str]()),
        ("fairlead:lost", {"fairlead:lost"}),
    ],
)
def test_the_rule_of_names_sees_what_is_not_there(expression: str, wrong: set[str]) -> None:
    """A series, a label, a histogram without its suffix, and a record that no rule makes."""
    assert wrong == wrong_names(expression)


def test_the_rule_of_labels_sees_a_group_that_no_series_has() -> None:
    """What is grouped by a label that is not there is one heap."""
    assert {"tenant"} == wrong_labels("sum by (queue, tenant) (fairlead_queue_depth)")
