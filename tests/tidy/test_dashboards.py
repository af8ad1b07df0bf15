"""Every dashboard keeps every rule, and every rule sees what offends it."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from tests.support import board_rules as rules
from tests.support.boards import FILES, listed, load, panels, targets, variables
from tests.support.chart import Object, at

CONFIG_MAP_BYTES_MAX = 1_000_000
SCOPE = 'namespace=~"$namespace", job=~"$job"'

Harm = Callable[[Object], None]


def put(path: tuple[str | int, ...], value: object) -> Harm:
    """Return a change of the first panel: what stands under a path is something else."""

    def harm(board: Object) -> None:
        found = at(panels(board)[0], *path[:-1])
        cast("dict[str | int, object]", found)[path[-1]] = value

    return harm


def asking(query: str) -> Harm:
    """Return a change after which the first panel asks something else."""
    return put(("targets", 0, "expr"), query)


def of_variable(name: str, key: str, value: object) -> Harm:
    """Return a change of one variable."""

    def harm(board: Object) -> None:
        (found,) = [each for each in variables(board) if each["name"] == name]
        found[key] = value  # type: ignore[assignment]  # JSON of any shape

    return harm


def of_board(key: str, value: object) -> Harm:
    """Return a change of the dashboard itself."""

    def harm(board: Object) -> None:
        board[key] = value  # type: ignore[assignment]  # JSON of any shape

    return harm


HARMS: dict[rules.Rule, tuple[Harm, ...]] = {
    rules.has_a_chosen_source: (of_variable("datasource", "query", "loki"),),
    rules.has_a_chosen_job: (
        of_variable("job", "multi", value=False),
        of_variable("job", "name", "work"),
    ),
    rules.has_values_from_labels: (
        of_variable("job", "query", {"query": "fairlead_build_info"}),
        of_variable("job", "query", {"query": "label_values(fairlead_build_info, colour)"}),
        of_variable("job", "query", {"query": "label_values(fairlead_gone, job)"}),
    ),
    rules.asks_for_values_again: (of_variable("job", "refresh", 1),),
    rules.uses_its_variables: (
        asking(f'sum(fairlead_leader{{{SCOPE}, program=~"$colour"}})'),
        of_variable("objective", "name", "unused"),
    ),
    rules.asks_the_chosen_source: (
        put(("datasource", "uid"), "mine"),
        put(("targets", 0, "datasource", "uid"), "mine"),
        of_variable("job", "datasource", {"uid": "mine"}),
    ),
    rules.says_what_it_shows: (
        put(("title",), ""),
        put(("title",), "Oldest wait / objective"),
        put(("description",), "What it shows and no more."),
    ),
    rules.has_units: (put(("fieldConfig", "defaults", "unit"), "jobs"),),
    rules.asks_something: (put(("targets",), []),),
    rules.closes_what_it_opens: (asking("sum(up"), asking("sum(up))("), asking('up{a="b}')),
    rules.follows_the_zoom: (asking(f"sum(rate(fairlead_jobs_started_total{{{SCOPE}}}[5m]))"),),
    rules.asks_one_installation: (
        asking("sum(fairlead_leader)"),
        asking('sum(fairlead_leader{namespace=~"$namespace"})'),
        asking("sum(fairlead:starts:rate5m)"),
        asking('sum(fairlead:starts:rate5m{namespace=~"$namespace"})'),
    ),
    rules.counts_growth: (
        asking(f"sum(fairlead_jobs_started_total{{{SCOPE}}})"),
        asking(f"sum(fairlead_job_wait_seconds_count{{{SCOPE}}})"),
    ),
    rules.adds_up_no_leaders_gauge: (
        asking(f"sum by (queue) (fairlead_queue_depth{{{SCOPE}}})"),
        asking(f"avg(fairlead_queue_depth{{{SCOPE}}})"),
    ),
    rules.has_legends: (
        put(("targets", 0, "legendFormat"), ""),
        put(("targets", 0, "legendFormat"), "{{queue}}"),
    ),
    rules.asks_for_what_there_is: (
        asking(f"max(fairlead_gone{{{SCOPE}}})"),
        asking('sum(fairlead:gone{namespace=~"$namespace|"})'),
        asking(f'max(fairlead_queue_depth{{{SCOPE}, colour="red"}})'),
        asking(f"max by (colour) (fairlead_queue_depth{{{SCOPE}}})"),
    ),
    rules.cannot_be_edited: (of_board("editable", value=True),),
    rules.leads_on: (
        of_board("links", []),
        of_board("tags", []),
        put(("links", 0, "url"), "${runbooks}/FairleadAllIsWell.md"),
        put(("links", 0, "url"), "/d/fairlead-nowhere?x"),
    ),
    rules.fits_the_grid: (put(("gridPos", "w"), 4), put(("gridPos", "x"), 23)),
    rules.has_ordered_steps: (
        put(("fieldConfig", "defaults", "thresholds", "steps"), []),
        put(
            ("fieldConfig", "defaults", "thresholds", "steps"),
            [{"value": None}, {"value": 2}, {"value": 1}],
        ),
    ),
    rules.begins_with_coloured_numbers: (put(("type",), "timeseries"),),
}


@pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_dashboard_keeps_the_rules(path: Path, rule: rules.Rule) -> None:
    """What is committed offends no rule."""
    assert [] == rule(load(path))


@pytest.mark.parametrize(
    ("rule", "harm"),
    [(rule, harm) for rule, harms in HARMS.items() for harm in harms],
    ids=lambda each: each.__name__ if each in rules.RULES else "",
)
def test_a_rule_sees_what_offends_it(rule: rules.Rule, harm: Harm) -> None:
    """The overview as it is passes; with one thing changed it does not."""
    (path,) = [each for each in FILES if each.stem == "overview"]
    board = copy.deepcopy(load(path))
    harm(board)

    assert rule(board)


def test_every_rule_has_an_example_of_what_offends_it() -> None:
    """A rule that has never failed is a wish."""
    assert set(rules.RULES) == set(HARMS)


def test_there_are_four_dashboards_with_uids_of_their_own() -> None:
    """Links name them, so a uid is for ever."""
    assert {
        "overview": "fairlead-overview",
        "fairness": "fairlead-fairness",
        "autoscaler": "fairlead-autoscaler",
        "workers": "fairlead-workers",
    } == {path.stem: load(path)["uid"] for path in FILES}


def test_a_dashboard_fits_into_a_config_map() -> None:
    """An API server takes a megabyte at most, and each dashboard has a ConfigMap of its own."""
    assert [] == [path for path in FILES if path.stat().st_size > CONFIG_MAP_BYTES_MAX]


def test_every_dashboard_marks_when_the_lead_changed() -> None:
    """Gauges of a leader begin anew with another one; a mark in the graphs says so."""
    marks = {
        path.stem: {str(each["name"]) for each in listed(load(path), "annotations", "list")}
        for path in FILES
    }

    assert [] == [name for name, named in marks.items() if "Lead changed" not in named]
    assert {"Scaled up", "Scaled down"} <= marks["autoscaler"]


def test_the_overview_has_what_an_operator_is_to_find_first() -> None:
    """Objective and budget, backlog, oldest wait, throughput and errors are on it."""
    (path,) = [each for each in FILES if each.stem == "overview"]
    asked = "\n".join(str(each["expr"]) for each in targets(load(path)))

    assert [] == [
        name
        for name in (
            "fairlead_job_wait_seconds_bucket",
            "fairlead_queue_depth",
            "fairlead_queue_oldest_ready_age_seconds",
            "fairlead_jobs_finished_total",
            "fairlead_attempts_ended_total",
        )
        if name not in asked
    ]
