"""The tables of series are what the programs show, and keep the rules of their names.

The page of metrics is written from the tables: tests/tidy/test_reference.py holds it to them.
"""

import re
from itertools import pairwise

import pytest
from prometheus_client import CollectorRegistry

from docs.generate.metrics import ROOMS
from fairlead.metrics.series import RELOAD_SUCCESSFUL, Series, histogram
from fairlead.policy import parse
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import State
from fairlead_autoscaler.metrics import registry as autoscaling
from fairlead_scheduler.metrics.database import (
    SnapshotAge,
    TableSize,
    UnfinishedBatches,
    WorkerStates,
)
from fairlead_scheduler.metrics.registry import STATES, Metrics, QueueMeasurement
from fairlead_worker.metrics import counters
from fairlead_worker.metrics import series as worker
from tests.support import autoscaling as looks
from tests.support.pages import worker_page
from tests.support.reports import report, share

Shown = tuple[str, frozenset[str], frozenset[float]]
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_SCALED = "pools: [{name: p, queues: ['*'], autoscale: {objective: 30s, max: 8, slots: 5}}]"
UNITS = ("_seconds", "_size", "_batch")
"""What a histogram's name ends in: it counts values of one unit."""
BOUNDED = {
    **dict.fromkeys(("queue", "kind", "pool", "tenant"), "the first or the largest ones"),
    **dict.fromkeys(("outcome", "ended_as", "state", "result", "type"), "words of the code"),
    **dict.fromkeys(("reason", "stage", "term", "param", "limit"), "words of the code"),
    **dict.fromkeys(("direction", "within", "group", "task"), "words of the code"),
    **dict.fromkeys(("holder", "table", "program"), "words of the code"),
    **dict.fromkeys(("rule", "policy", "digest", "version"), "of the policy in force"),
}
"""Every label there is, and why it has few values."""


def tabled(table: tuple[Series, ...]) -> dict[str, Shown]:
    """Return the type, the labels and the bounds of each series of a table."""
    return {
        each.full_name: (each.type, frozenset(each.labels), frozenset(each.bounds))
        for each in table
    }


def shown(registry: CollectorRegistry) -> dict[str, Shown]:
    """Return the type, the labels and the bounds of each series that a program shows."""
    found: dict[str, Shown] = {}
    for family in registry.collect():
        if family.name.startswith("fairlead_"):
            name = f"{family.name}_total" if family.type == "counter" else family.name
            labels = {label for each in family.samples for label in each.labels}
            edges = {each.labels["le"] for each in family.samples if "le" in each.labels}
            bounds = frozenset(float(edge) for edge in edges - {"+Inf"})
            found[name] = (family.type, frozenset(labels - {"le"}), bounds)
    return found


def broken_rules(series: Series) -> tuple[str, ...]:
    """Say which rules of names, labels and bounds a series breaks."""
    rises = all(low < high for low, high in pairwise(series.bounds))
    rules = {
        "its name is of small letters": NAME.fullmatch(series.name) is not None,
        "a counter ends in _total": (series.type == "counter")
        == series.name.endswith("_total"),
        "a histogram names its unit": series.type != "histogram" or series.name.endswith(UNITS),
        "a histogram has bounds": (series.type == "histogram") == bool(series.bounds),
        "bounds rise": rises,
        "labels are bounded": set(series.labels) <= BOUNDED.keys(),
        "it says what it is in sentences": series.about.endswith("."),
        "it stands in one row of a table": "|" not in series.about and "\n" not in series.about,
    }
    return tuple(rule for rule, held in rules.items() if not held)


def busy_scheduler() -> CollectorRegistry:
    """Return a registry with a sample of every series."""
    metrics = Metrics()
    metrics.begin()
    metrics.queues.count_runnable(["default"])
    metrics.queues.count_eviction("default")
    jobs: dict[str, int] = dict.fromkeys(STATES, 1)
    metrics.queues.show_means("default", {"default": 1.0})
    metrics.queues.show([QueueMeasurement("default", jobs, 1.0, (1, 1, 1))])
    pools = parse(_SCALED).pools
    metrics.policy.show_policy("0123456789ab", "1", pools or ())
    metrics.policy.record_read(good=True, taken=1)
    metrics.policy.rules.show_true("night", 1)
    metrics.policy.rules.count_overrun("night")
    metrics.policy.rules.count_error("night")
    metrics.policy.show_blocked({"limit": 1})
    metrics.shadow.show("default", "0123456789ab", moved_share=0.1, waits={"shadow": 1.0})
    metrics.overflow.labels("default").inc()
    metrics.task_failures.labels("steal").inc()
    metrics.queues.show_dead({"default": 1})
    metrics.fairness.show("default", report(share("acme", 1.0)))
    metrics.endings.count_stolen(["default"], ["mail"], ["failed"])
    metrics.database.show_workers([WorkerStates("default", 1, 0, 0)], pools=())
    metrics.database.show_unhandled({"send": 3})
    metrics.database.show_batches([UnfinishedBatches("open", 1, 3.0)])
    metrics.database.show_sessions({"worker": 3}, most=97)
    metrics.database.show_holders({"transaction": SnapshotAge(3.0, 5)})
    metrics.database.show_tables([TableSize("jobs", 1, 1, 8192, 8192)])
    return metrics.registry


def busy_worker() -> CollectorRegistry:
    """Return a registry with a sample of every series."""
    counted = counters.Counters()
    with counted.lock:
        kind = counted.kind("default", "mail")
        kind.started = kind.stalls = kind.ended["failed"] = kind.finished["failed"] = 1
        kind.wait.observe(1)
        kind.run.observe(1)
    for each in worker.OF_CHILDREN:
        if not each.labels and each.type == "histogram":
            counted.observe(each, 1.0)
    growth = counted.take()
    assert growth is not None
    with worker_page() as page:
        page.add(growth)
        return page.registry


def busy_autoscaler() -> CollectorRegistry:
    """Return a registry with a sample of every series."""
    metrics = autoscaling.Metrics()
    look, config = looks.look(1, looks.demand(work=1000)), looks.pool(max=1)
    decision = decide(State(), look, config)
    assert Reason.AT_MAX in decision.limited
    metrics.show_obstacle("LeaseForbidden")
    metrics.leadership.begin()
    metrics.policy.show_synced(good=True)
    metrics.policy.show_version(1)
    metrics.policy.show_places(1)
    metrics.pools.show("default", decision, look, config)
    metrics.actions.scaled.labels("default", "up", "AtMax").inc()
    metrics.actions.replicas.labels("default", "up").inc()
    metrics.actions.victims.labels("default", "idle").inc()
    metrics.actions.conflicts.labels("default").inc()
    metrics.actions.pod_start.labels("default").observe(1)
    metrics.errors.labels("observe").inc()
    return metrics.registry


@pytest.mark.parametrize(
    ("program", "registry"),
    [
        ("Worker", busy_worker()),
        ("Scheduler", busy_scheduler()),
        ("Autoscaler", busy_autoscaler()),
    ],
)
def test_a_rooms_table_is_what_its_program_shows(
    program: str, registry: CollectorRegistry
) -> None:
    """Each series has a row with its type, labels and bounds; each row has a series."""
    assert tabled(ROOMS[program]) == shown(registry)


def test_every_series_keeps_the_rules() -> None:
    """Units and `_total` in names, bounded labels, sentences."""
    broken = {each.name: broken_rules(each) for table in ROOMS.values() for each in table}

    assert {} == {name: rules for name, rules in broken.items() if rules}


def test_a_name_means_the_same_in_every_program() -> None:
    """A sum over programs adds what has one type and the same labels."""
    meanings: dict[str, set[tuple[str, tuple[str, ...]]]] = {}
    for table in ROOMS.values():
        assert len(table) == len({each.name for each in table})
        for each in table:
            meanings.setdefault(each.name, set()).add((each.type, each.labels))

    assert [] == [name for name, each in meanings.items() if len(each) > 1]


def test_waits_are_told_apart_from_ten_milliseconds_to_an_hour() -> None:
    """An objective may be anywhere between; what lies beyond is late by any of them."""
    bounds = worker.JOB_WAIT.bounds

    assert (0.01, 3600) == (bounds[0], bounds[-1])


def test_the_rules_see_a_name_without_unit_and_a_label_without_bound() -> None:
    """What breaks them is named; a gauge of the core breaks none."""
    wrong = histogram("Waits", "how long | jobs wait", (2.0, 1.0), "job")

    assert () == broken_rules(RELOAD_SUCCESSFUL)
    assert {
        "its name is of small letters",
        "a histogram names its unit",
        "bounds rise",
        "labels are bounded",
        "it says what it is in sentences",
        "it stands in one row of a table",
    } == set(broken_rules(wrong))
