"""The lease thread over HTTP: two candidates, one server."""

from collections.abc import Generator
from contextlib import contextmanager

from fairlead_autoscaler.controller.lease_thread import LeaseThread
from fairlead_autoscaler.kube.adapter import Cluster
from tests.support.kubernetes import api, scenes
from tests.support.kubernetes.faults import Fault
from tests.support.waiting import until


@contextmanager
def writers(server: api.Api, identity: str) -> Generator[LeaseThread]:
    """Run a candidate for the Lease while inside."""
    port = Cluster(server.client(), scenes.NAMES)
    lease_thread = LeaseThread(port, identity=identity, changed=lambda: None)
    lease_thread.start()
    try:
        yield lease_thread
    finally:
        lease_thread.stop()


def test_a_lease_that_is_released_is_acquired_at_the_next_read() -> None:
    """A graceful release waits for the next read and not for the expiry."""
    with api.running() as server:
        scenes.install(server.client())
        with writers(server, "second") as second:
            until(second.is_leader, what="the first term")
            with writers(server, "first") as first:
                until(lambda: server.asked[-1].verb == "get", what="a look at the Lease")
                assert not first.is_leader()

                second.stop()

                # Well before the ten seconds after which it would have taken it anyway.
                until(first.is_leader, what="the next term", seconds=8)
                assert not second.is_leader()


def test_a_renewal_whose_answer_is_lost_costs_no_term() -> None:
    """The record is ours at a version that we do not know: read, and renewed."""
    with api.running() as server:
        scenes.install(server.client())
        with writers(server, "me") as lease_thread:
            until(lease_thread.is_leader, what="the term")
            server.faults.add(Fault(kind="answer", code=409, verb="update"))
            before = len(server.asked)

            until(
                lambda: (
                    [each.verb for each in server.asked[before:]][:3]
                    == ["update", "get", "update"]
                ),
                what="the renewal after the refused one",
            )

            assert lease_thread.is_leader()
            assert 1 == lease_thread.term
