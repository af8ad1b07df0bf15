"""Jobs that start late call at once, soon or in the morning, by how many of them are late."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest

import fairlead
from tests.support.alerting import (
    CALM_SECONDS,
    alarmed,
    alone,
    await_calm,
    called,
    feeding,
    withdraw,
)
from tests.support.observed import schedule
from tests.support.observing import Watched

pytestmark = [pytest.mark.long, pytest.mark.any_server, pytest.mark.timeout(900)]

_OBJECTIVE = "5s"
"""Longer than what a machine at work keeps jobs waiting."""
_LATE = {
    "FairleadWaitBudgetBurnsFast": ("fast", "{limit: 2, per: 1s, burst: 1}"),
    "FairleadWaitBudgetBurns": ("often", "{limit: 9, per: 20s, burst: 1}"),
    "FairleadWaitBudgetShrinks": ("seldom", "{limit: 1, per: 8s, burst: 1}"),
}
"""Of each alert: the queue, and how many jobs of one tenant may start there, all of them late.

Those of the other tenants are four in a second, and start in time: a third, a tenth, and three
of a hundred are late.
"""
_PATIENT = "patient"
_AS_WELL = "FairleadOldestJobWaits"
"""It is about those that have not started: the tenant's, for which no other alert fires."""
_OFTEN = {"FAIRLEAD_SCAN_SECONDS": "2", "FAIRLEAD_METRICS_WAIT_BOUNDS": _OBJECTIVE}


def jobs() -> Sequence[fairlead.NewJob]:
    """Return what is inserted into each queue: of one tenant more than is to be let start."""
    return [
        fairlead.NewJob(kind="send", queue=queue, tenant=tenant)
        for queue, _ in _LATE.values()
        for tenant in ("one", "two", _PATIENT, *([_PATIENT] if queue == "fast" else []))
    ]


def many() -> Sequence[fairlead.NewJob]:
    """Return so many that start in time that a few that were late are no hundredth of them."""
    return [fairlead.NewJob(kind="send", queue="seldom", tenant="one")] * 10


def policy(*, limited: bool) -> str:
    """Return the policy's document, with the rates or without them."""
    pools = schedule.policy(1, 2, "").replace("objective: 2s", f"objective: {_OBJECTIVE}")
    if not limited:
        return pools
    queues = "".join(
        f"  - match: {{queue: {queue!r}}}\n"
        "    tenants:\n"
        "      overrides:\n"
        f"        - {{match: {{tenant: {_PATIENT}}}, rate: {rate}}}\n"
        for queue, rate in _LATE.values()
    )
    return f"{pools}queues:\n{queues}"


@pytest.fixture
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """Yield a fleet whose pool has an objective, which the rules go by."""
    with alarmed(
        tmp_path_factory.mktemp("rules"),
        jobs=jobs,
        objectives={"default": Decimal(_OBJECTIVE.removesuffix("s"))},
        environment=_OFTEN,
    ) as running:
        running.apply_policy(policy(limited=False))
        yield running


def test_late_starts_raise_an_alert_by_how_many_they_are(
    fleet: Watched, tmp_path: Path
) -> None:
    """A change of the policy lets one tenant of each queue start too few jobs.

    Three queues at once, since the slowest alert takes minutes: each has an alert of its own.
    """
    await_calm(fleet)
    with alone(fleet, *_LATE, _AS_WELL):
        fleet.apply_policy(policy(limited=True))
        readers = {name: called(fleet, name, tmp_path, seconds=150) for name in _LATE}
        fires = {
            (each.labels["alertname"], each.labels["queue"])
            for each in fleet.query('ALERTS{alertstate="firing"}')
        }
        tenants = {name: reader.look()[1] for name, reader in readers.items()}
        often = readers["FairleadWaitBudgetBurns"]
        *_, history = often.look()
        (last, *_) = re.findall(r"^ *(\d+) .* was in force", history, re.MULTILINE)
        often.known["VERSION"] = last
        for queue, _ in _LATE.values():
            withdraw(fleet, queue, _PATIENT)  # what would start late as soon as it may
        (mended,) = often.mend()
        with feeding(fleet.url, many):
            for name in (*_LATE, _AS_WELL):
                fleet.wait_for_silence(name, CALM_SECONDS)

    assert {(name, queue) for name, (queue, _) in _LATE.items()} == {
        (name, queue) for name, queue in fires if name in _LATE
    }
    for name, (queue, _) in _LATE.items():
        assert re.search(rf"^{queue} +{_PATIENT} .*rate", tenants[name], re.MULTILINE)
    assert "version" in mended
