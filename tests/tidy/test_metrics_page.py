"""The page of metrics names what the programs show, and nothing else."""

import re

import pytest
from prometheus_client import CollectorRegistry

from fairlead_autoscaler import metrics as autoscaling
from fairlead_autoscaler.decide import decide
from fairlead_autoscaler.decision import State
from fairlead_autoscaler.reasons import Reason
from fairlead_scheduler.metrics import STATES, Measured, Metrics
from fairlead_worker import tally
from tests.support import autoscaling as looks
from tests.support import tree
from tests.support.pages import worker_page
from tests.support.reports import report, share

_ROW = re.compile(r"\| `(fairlead_\w+)` \| (\w+) \| ([\w, ]*) ?\| (\S.*) \|")
_PAGE = (tree.ROOT / "docs/reference/metrics.md").read_text("utf-8")
_NOT_OURS = frozenset({"le"})


def described(program: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the type and the labels of each series in a section of the page."""
    section = _PAGE.split(f"## {program}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    found = [_ROW.fullmatch(line) for line in rows]
    return {
        row[1]: (row[2], frozenset(row[3].replace(",", " ").split()))
        for row in found
        if row is not None
    }


def shown(registry: CollectorRegistry) -> dict[str, tuple[str, frozenset[str]]]:
    """Return the type and the labels of each series that a program shows."""
    return {
        family.name: (
            family.type,
            frozenset(name for each in family.samples for name in each.labels) - _NOT_OURS,
        )
        for family in registry.collect()
        if family.name.startswith("fairlead_")
    }


def busy_scheduler() -> CollectorRegistry:
    """Return a registry with a sample of every series."""
    metrics = Metrics()
    metrics.queues.runnable(["default"])
    jobs: dict[str, int] = dict.fromkeys(STATES, 1)
    metrics.queues.means("default", {"default": 1.0})
    metrics.queues.show([Measured("default", jobs, 1.0)])
    metrics.policy.in_force("0123456789ab", "1")
    metrics.policy.rules.true("night", 1)
    metrics.policy.rules.overruns("night")
    metrics.policy.rules.errors("night")
    metrics.policy.held({"limit": 1})
    metrics.shadow.show("default", "0123456789ab", moved_share=0.1, waits={"shadow": 1.0})
    metrics.overflow.labels("default").inc()
    metrics.queues.dead({"default": 1})
    metrics.fairness.show("default", report(share("acme", 1.0)))
    metrics.endings.stolen(["default"], ["mail"], ["failed"])
    return metrics.registry


def busy_worker() -> CollectorRegistry:
    """Return a registry with a sample of every series."""
    counted = tally.Tally()
    with counted.lock:
        kind = counted.kind("default", "mail")
        kind.started = kind.ended["failed"] = kind.finished["failed"] = 1
        kind.wait.observe(1)
        kind.run.observe(1)
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
def test_the_page_of_metrics_is_complete(program: str, registry: CollectorRegistry) -> None:
    """Each series has a row with its type and labels; each row has a series."""
    assert shown(registry) == described(program)
