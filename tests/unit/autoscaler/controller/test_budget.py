"""How many connections pods may hold together: of the server, or of the pooler before it."""

import pytest

from fairlead_autoscaler.controller.budget import (
    ConnectionLimit,
    PoolerClients,
    ServerConnections,
    connection_limit,
)

SERVER = ServerConnections(most=100, reserved=5)


def test_the_server_offers_what_it_reserves_for_nobody() -> None:
    """Superusers' connections and reserved ones are not for workers, nor what others need."""
    assert ConnectionLimit(
        total=75,
        detail="100 max_connections, 5 reserved by it and 20 by capacity.connectionsReserve",
    ) == connection_limit(SERVER, None, reserve=20)


@pytest.mark.parametrize(
    ("given", "told", "total", "source"),
    [
        (5000, None, 4980, "5000 clients of the pooler, by capacity.poolerConnections"),
        (5000, 300, 4980, "5000 clients of the pooler, by capacity.poolerConnections"),
        (None, 300, 280, "300 clients of the pooler, as it says"),
        (10, None, 0, "10 clients of the pooler"),
    ],
)
def test_behind_a_pooler_its_clients_count_and_not_the_servers_connections(
    given: int | None, told: int | None, total: int, source: str
) -> None:
    """A value goes before what one of its replicas says."""
    found = connection_limit(SERVER, PoolerClients(given=given, told=told), reserve=20)

    assert found is not None
    assert (total, True) == (found.total, found.detail.startswith(source))


def test_a_pooler_of_which_nothing_is_known_bounds_nothing() -> None:
    """The server's own number says nothing of its clients."""
    assert None is connection_limit(SERVER, PoolerClients(given=None, told=None), reserve=20)
