"""A release whose Lease no tool made: it leads all the same, or says why it cannot."""

from pathlib import Path
from urllib.request import urlopen

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import ownership
from fairlead_cli.dev.ports import free_port
from tests.support import argo
from tests.support.argo import AUTOSCALER, WORKERS, Program, Release
from tests.support.chart import at, needs_helm
from tests.support.real_api import Api, needs_api_server
from tests.support.waiting import until

pytestmark = [
    needs_helm,
    needs_api_server,
    pytest.mark.xdist_group("api"),
    pytest.mark.timeout(300),
]
FORBIDDEN = "forbidden: User"


def scaled(release: Release) -> bool:
    """Return whether the pool has its least number of pods."""
    return release.get("Deployment", WORKERS, "spec", "replicas") == 3


def metrics(program: Program) -> str:
    """Return the autoscaler's metrics of leading."""
    with urlopen(f"http://127.0.0.1:{program.port}/metrics", timeout=10) as page:
        text = page.read().decode()
    return "".join(f"{each}\n" for each in text.splitlines() if "_lead" in each)


def test_a_lease_that_was_left_out_is_created_and_pools_are_scaled(
    api: Api, database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """With the chart's own Role; one that is deleted later is there again within seconds."""
    release = Release(api, "left-out")
    release.install()
    ownership.own(db, "left-out/shop")
    assert None is release.get("Lease", AUTOSCALER, "metadata")
    with argo.autoscaler(release, database_url, tmp_path, port=free_port()) as program:
        until(lambda: scaled(release), what="the pool's least", seconds=60)
        status, said = program.helm_test()
        assert (0, True) == (status, "holds the Lease" in said), said
        first = release.get("Lease", AUTOSCALER, "metadata", "uid")

        assert 200 == api.ask("DELETE", release.path("Lease", AUTOSCALER))[0]

        until(
            lambda: release.get("Lease", AUTOSCALER, "metadata", "uid") not in (None, first),
            what="another Lease",
            seconds=5,
        )
        assert 'fairlead_leader{program="autoscaler"} 1.0' in metrics(program)
    assert [] == [each for each in program.log() if each["event"] == "lease.lost"]


def test_where_it_may_not_be_created_log_event_metric_and_helm_test_say_why(
    api: Api, database_url: str, db: Connection[TupleRow], tmp_path: Path
) -> None:
    """Its pods are ready all the while; once it may, it leads without a restart."""
    release = Release(api, "forbidden")
    release.install()
    release.apply_role(creates_leases=False)
    ownership.own(db, "forbidden/shop")
    with argo.autoscaler(release, database_url, tmp_path, port=free_port()) as program:
        until(lambda: release.events() != [], what="the event", seconds=90)
        (event,) = release.events()
        (logged,) = [each for each in program.log() if each["event"] == "leadership.impossible"]
        status, said = program.helm_test()

        assert ("Warning", "CannotLead", "Pod", "autoscaler-0") == (
            event["type"],
            event["reason"],
            at(event, "regarding", "kind"),
            at(event, "regarding", "name"),
        )
        assert str(event["note"]).startswith("cannot lead: it has no right to")
        assert "create" in str(event["note"])
        assert ("LeaseForbidden", True) == (
            logged["obstacle"],
            FORBIDDEN in str(logged["reason"]),
        )
        assert 'fairlead_autoscaler_cannot_lead{reason="LeaseForbidden"} 1.0' in metrics(
            program
        )
        assert (1, True) == (status, "cannot lead: LeaseForbidden" in said), said
        assert not scaled(release)

        release.apply_role(creates_leases=True)

        until(lambda: scaled(release), what="the pool's least", seconds=60)
        assert "cannot_lead{" not in metrics(program)
        assert 0 == program.helm_test()[0]
