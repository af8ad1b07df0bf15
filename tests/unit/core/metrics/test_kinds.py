"""Kinds are labels as far as the settings say, and never more than a bound."""

import pytest

from fairlead_scheduler.metrics.registry import KINDS_MAX, Metrics
from fairlead_worker.metrics.counters import Counters
from tests.support.pages import worker_page


@pytest.mark.parametrize(
    ("allowlist", "expected"),
    [("", {"mail": 1, "sms": 2, "fax": 4}), ("mail, fax", {"mail": 1, "other": 2, "fax": 4})],
)
def test_a_worker_tells_the_kinds_of_the_allowlist_apart(
    allowlist: str, expected: dict[str, int]
) -> None:
    """With an allowlist only its kinds are labels; the sum stays the same."""
    counters = Counters()
    with counters.lock:
        for kind, count in (("mail", 1), ("sms", 2), ("fax", 4)):
            counters.kind("default", kind).started = count
    growth = counters.take()
    assert growth is not None
    with worker_page(metrics_kind_allowlist=allowlist) as page:
        page.add(growth)
        samples = {
            sample.labels["kind"]: sample.value
            for family in page.registry.collect()
            for sample in family.samples
            if sample.name == "fairlead_jobs_started_total"
        }

    assert expected == samples


@pytest.mark.parametrize(("allowlist", "apart"), [("", KINDS_MAX), ("k1,k2", 2)])
def test_the_leader_has_few_kinds_too(allowlist: str, apart: int) -> None:
    """At most 200 kinds are labels, or those of the allowlist; the others are one."""
    metrics = Metrics(kind_allowlist=allowlist)
    kinds = [f"k{number}" for number in range(KINDS_MAX + 5)]
    same = ["default"] * len(kinds), kinds, ["queued"] * len(kinds)

    metrics.endings.count_stolen(*same)

    values = {
        sample.labels["kind"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "fairlead_attempts_ended_total"
    }
    assert apart + 1 == len(values)
    assert len(kinds) - apart == values["other"]
