"""Each alert fires when it must, alone, and does not fire in near-misses."""

from decimal import Decimal
from pathlib import Path

import pytest

from docs.generate import alerts
from docs.generate.alerts import Choice
from tests.support.promtool import (
    NAMESPACE,
    Case,
    cases,
    choice,
    complaints,
    group,
    healthy,
    laid_over,
    needs_promtool,
    refusals,
    within,
)
from tests.support.sampled import sampled

_WORKLESS = ("worker", "queue_", "fairlead_job", "dead_jobs", "attempts", "lease_exp")
_NONE = "0+0x6000"
_HOURS, _DAY = ("10m", "2h"), ("12m", "2h", "1d")
_SPARSE = "4m"  # a long case costs what it has evaluations


def _series(case: Case) -> dict[str, str]:
    return laid_over(case.series, healthy(case.at, case.every))


@needs_promtool
@pytest.mark.parametrize("alert", sampled(alerts.names(), of=4))
def test_an_alert_fires_when_it_must_and_no_other_does(alert: str, tmp_path: Path) -> None:
    """Labels, sentences and the runbook's address are as written; near-misses are silent."""
    groups = [
        group(case.name, within(_series(case), NAMESPACE), case.at, case.fires, case.every)
        for case in cases(alert)
    ]

    assert "" == complaints(groups, tmp_path)


@needs_promtool
def test_a_fleet_scaled_to_zero_with_nothing_to_do_fires_nothing(tmp_path: Path) -> None:
    """All day there is no worker and no unfinished job."""
    series = {
        name: values
        for name, values in healthy(_DAY, _SPARSE).items()
        if not any(part in name for part in _WORKLESS)
    }
    series |= {
        f'fairlead_autoscaler_replicas{{type="{kind}", pool="default", instance="a1"}}': _NONE
        for kind in ("desired", "ready", "current", "recommended")
    }

    silent = group("zero", within(series, NAMESPACE), _DAY, (), _SPARSE)

    assert "" == complaints([silent], tmp_path)


@needs_promtool
def test_a_fleet_at_work_fires_nothing(tmp_path: Path) -> None:
    """What each case is laid over is healthy by itself."""
    silent = group("healthy", within(healthy(_HOURS), NAMESPACE), _HOURS, ())
    all_day = within(healthy(_DAY, _SPARSE), NAMESPACE)

    assert "" == complaints([silent], tmp_path)
    assert "" == complaints([group("all day", all_day, _DAY, (), _SPARSE)], tmp_path)


@pytest.mark.parametrize("alert", alerts.names())
def test_every_alert_has_a_case_of_each_kind(alert: str) -> None:
    """One in which it fires, and one in which it nearly does."""
    found = cases(alert)

    assert any(case.fires for case in found)
    assert any(not case.fires for case in found)
    assert len({case.name for case in found}) == len(found)


@needs_promtool
@pytest.mark.parametrize(
    "chosen",
    [Choice(), choice(), Choice(namespace="a", scale=Decimal("0.02"))],
    ids=["plain", "namespace", "scaled"],
)
def test_prometheus_takes_the_rules(chosen: Choice, tmp_path: Path) -> None:
    """As they are committed, for a namespace, and with durations that are scaled."""
    assert "" == refusals(alerts.render(chosen), tmp_path)


@needs_promtool
def test_a_case_that_is_wrong_is_seen(tmp_path: Path) -> None:
    """An alert that fires and is not expected fails its group."""
    (case, *_) = cases("FairleadNoLeader")
    wrong = group(case.name, within(_series(case), NAMESPACE), case.at, (), case.every)

    assert "FairleadNoLeader" in complaints([wrong], tmp_path)
