"""With `metrics_tenants=hashes` the page names no tenant, and the command line does."""

import json

import pytest
from prometheus_client import generate_latest

from fairlead_autoscaler.metrics.series import SERIES as AUTOSCALERS
from fairlead_scheduler.metrics.fairness import TENANT_SERIES
from fairlead_scheduler.metrics.series import SERIES as SCHEDULERS
from fairlead_worker.metrics.series import SERIES as WORKERS
from tests.conftest import Connect
from tests.integration.conftest import Fairlead
from tests.support.children import register
from tests.support.race import Database
from tests.support.schedulers import Replica, led, scheduling
from tests.support.waiting import until
from tests.support.working import working

NAMES = ("acme-holding", "bobs-bakery")


def tenants_on(replica: Replica) -> set[str]:
    """Return the labels of tenants that a replica shows."""
    return {
        sample.labels["tenant"]
        for family in replica.metrics.registry.collect()
        for sample in family.samples
        if "tenant" in sample.labels
    } - {"other", ""}


def hashed(url: str, db: Database, connect: Connect, worker: int, *, setting: str) -> set[str]:
    """Return the labels of both tenants on the page of a replica, which names neither."""
    with (
        scheduling(url, report_seconds=1.0, metrics_tenants=setting) as replica,
        working(connect, worker),
    ):
        led(db)
        until(lambda: len(tenants_on(replica)) == len(NAMES), what="both", seconds=30)
        page = generate_latest(replica.metrics.registry).decode()
        assert [] == [name for name in NAMES if name in page]
        return tenants_on(replica)


def test_hashes_are_shown_in_place_of_names_and_stay_the_same(
    database_url: str,
    db: Database,
    connect: Connect,
    fairlead: Fairlead,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Two replicas, one after the other, show the labels that `fairlead tenants` prints."""
    worker = register(db, slots=2)
    db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind)"
        " SELECT unnest(%s::text[]), 'noop' FROM generate_series(1, 20000)",
        [list(NAMES)],
    )
    first = hashed(database_url, db, connect, worker, setting="hashes")
    second = hashed(database_url, db, connect, worker, setting="off")
    capsys.readouterr()  # the replicas' logs

    rows = json.loads(fairlead("tenants", "--hashes", "--json"))

    assert first == second == {row["hash"] for row in rows}
    assert set(NAMES) == {row["tenant"] for row in rows}
    table = fairlead("tenants", "--hashes")
    assert all(row["hash"] in table for row in rows)
    assert "hash" not in json.loads(fairlead("tenants", "--json"))[0]


def test_no_other_series_has_a_tenants_name() -> None:
    """A series with a label for tenants is one of those that are hashed."""
    every = {*SCHEDULERS, *WORKERS, *AUTOSCALERS}

    assert set(TENANT_SERIES) == {each for each in every if "tenant" in each.labels}
