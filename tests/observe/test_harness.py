"""A fleet under Prometheus: what a test does to it shows in its series."""

import json
from collections.abc import Iterator

import pytest

from tests.support.observed.prometheus import PrometheusError
from tests.support.observing import NAMESPACE, Watched, watching
from tests.support.waiting import until

pytestmark = [
    pytest.mark.any_server,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("observe"),
]

_TIMEOUT_SECONDS = 200.0
"""For whatever is awaited, on a machine that has much else to do: only a failure takes it."""
_LEADERS = 'sum(fairlead_leader{pod=~"scheduler-.*"})'
_GONE = {
    "alert": "SchedulerIsGone",
    "expr": 'up{container="scheduler"} == 0',
    "labels": {"severity": "critical"},
    "annotations": {"summary": "{{ $labels.pod }} is gone"},
}
_TWO = 'label_replace(vector(1), "of", "two", "", "") or vector(1)'
_BROKEN = {"alert": "CannotBeAsked", "expr": f"vector(1) * on () ({_TWO})"}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield a fleet with two rules of the test's own, one of which cannot be evaluated."""
    rules = tmp_path_factory.mktemp("rules") / "rules.json"
    rules.write_text(json.dumps({"groups": [{"name": "own", "rules": [_GONE, _BROKEN]}]}))
    with watching(rules=[rules], workers=(1, 2)) as running:
        yield running


def test_every_process_has_a_page_with_labels_as_in_a_cluster(fleet: Watched) -> None:
    """By its pod's name, its container and its namespace."""
    found = {(each.labels["pod"], each.labels["container"]) for each in fleet.query("up == 1")}

    assert {
        ("scheduler-1", "scheduler"),
        ("scheduler-2", "scheduler"),
        ("autoscaler", "autoscaler"),
        ("worker-1", "worker"),
    } <= found
    assert {NAMESPACE} == {each.labels["namespace"] for each in fleet.query("up")}


def test_the_load_is_worked_on_and_brings_more_workers(fleet: Watched) -> None:
    """Jobs end, some of them badly, and the autoscaler adds workers whose pages are found."""
    fleet.wait_for("sum(rate(fairlead_jobs_finished_total[10s])) > 0", _TIMEOUT_SECONDS)
    fleet.wait_for('count(up{container="worker"} == 1) > 1', _TIMEOUT_SECONDS)


def test_a_scheduler_that_is_killed_is_seen_and_alerted_until_it_is_back(
    fleet: Watched,
) -> None:
    """It stays dead until the test starts it, and another one leads meanwhile."""
    leader = fleet.leader()
    fleet.wait_for_silence("SchedulerIsGone", _TIMEOUT_SECONDS)  # a page may be slow once

    fleet.kill(leader)

    alert = until(
        lambda: next((a for a in fleet.alerts() if a.labels["pod"] == leader), None),
        what=f"an alert of {leader}",
        seconds=_TIMEOUT_SECONDS,
    )
    assert ("SchedulerIsGone", "firing", f"{leader} is gone") == (
        alert.name,
        alert.state,
        alert.annotations["summary"],
    )
    assert leader not in fleet.names()
    fleet.wait_for(f"{_LEADERS} == 1", _TIMEOUT_SECONDS)
    assert leader != fleet.leader()
    fleet.start(leader)
    fleet.wait_for_silence("SchedulerIsGone", _TIMEOUT_SECONDS)
    assert leader in fleet.names()


def test_a_process_that_is_frozen_does_not_answer_until_it_thaws(fleet: Watched) -> None:
    """Its page cannot be scraped."""
    fleet.freeze("autoscaler")
    fleet.wait_for('up{pod="autoscaler"} == 0', _TIMEOUT_SECONDS)

    fleet.thaw("autoscaler")
    fleet.wait_for('up{pod="autoscaler"} == 1', _TIMEOUT_SECONDS)


def test_a_worker_that_is_killed_is_started_again_on_its_port(fleet: Watched) -> None:
    """As a container is in its pod."""
    began = 'process_start_time_seconds{pod="worker-1"}'
    (before,) = fleet.wait_for(began, _TIMEOUT_SECONDS)
    pid = fleet.pid("worker-1")

    fleet.kill("worker-1")

    fleet.wait_for(f"{began} > {before.value}", _TIMEOUT_SECONDS)
    assert pid != fleet.pid("worker-1")


def test_a_malformed_query_is_refused_with_the_message_of_prometheus(fleet: Watched) -> None:
    """And not with an empty answer."""
    with pytest.raises(PrometheusError, match="parse error"):
        fleet.query("sum(")


def test_what_did_not_come_is_reported_with_what_is_there(fleet: Watched) -> None:
    """The query, and how each page's last scrape went."""
    with pytest.raises(AssertionError, match=r"an answer to absent_series.*'autoscaler': '"):
        fleet.wait_for("absent_series", seconds=1)
    with pytest.raises(AssertionError, match="NoSuchAlert firing"):
        fleet.wait_for_alert("NoSuchAlert", seconds=1)


def test_a_rule_that_cannot_be_evaluated_is_reported(fleet: Watched) -> None:
    """With Prometheus's message."""
    problems = until(fleet.rule_problems, what="a rule's problem", seconds=_TIMEOUT_SECONDS)

    assert ["CannotBeAsked"] == [each.partition(":")[0] for each in problems]
