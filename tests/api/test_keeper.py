"""The Lease's keeper over HTTP: two candidates, one server."""

from collections.abc import Generator
from contextlib import contextmanager

from fairlead_autoscaler.keeper import Keeper
from fairlead_autoscaler.kube.cluster import Cluster
from tests.support.kubernetes import api, scenes
from tests.support.kubernetes.faults import Fault
from tests.support.waiting import until


@contextmanager
def standing(server: api.Api, identity: str) -> Generator[Keeper]:
    """Let somebody stand for the Lease while inside."""
    port = Cluster(server.client(), scenes.NAMES)
    keeper = Keeper(port, identity=identity, changed=lambda: None)
    keeper.start()
    try:
        yield keeper
    finally:
        keeper.stop()


def test_a_lease_that_is_given_away_is_taken_at_the_next_look() -> None:
    """A graceful hand-over waits for a look and not for the expiry."""
    with api.running() as server:
        scenes.install(server.client())
        with standing(server, "second") as second:
            until(second.leads, what="the first term")
            with standing(server, "first") as first:
                until(lambda: server.asked[-1].verb == "get", what="a look at the Lease")
                assert not first.leads()

                second.stop()

                # Well before the ten seconds after which it would have taken it anyway.
                until(first.leads, what="the hand-over", seconds=8)
                assert not second.leads()


def test_a_renewal_whose_answer_is_lost_costs_no_term() -> None:
    """The record is ours at a version that we do not know: read, and renewed."""
    with api.running() as server:
        scenes.install(server.client())
        with standing(server, "me") as keeper:
            until(keeper.leads, what="the term")
            server.faults.add(Fault(kind="answer", code=409, verb="update"))
            before = len(server.asked)

            until(
                lambda: (
                    [each.verb for each in server.asked[before:]][:3]
                    == ["update", "get", "update"]
                ),
                what="the renewal after the refused one",
            )

            assert keeper.leads()
            assert 1 == keeper.term
