"""Every session of a service notices that its network path is gone, and soon."""

import os
import socket
import sys

import pytest
from psycopg.conninfo import make_conninfo

from fairlead.db import connect
from fairlead.settings import DatabaseSettings


@pytest.mark.skipif(sys.platform != "linux", reason="the options have other names elsewhere")
def test_a_silent_path_is_noticed_within_the_networks_timeout(database_url: str) -> None:
    """A connection is dead when nothing is acknowledged, idle or not."""
    settings = DatabaseSettings(database_url=database_url, network_timeout_seconds=12)
    with (
        connect.connect_service(settings, name="test") as session,
        socket.socket(fileno=os.dup(session.fileno())) as twin,
    ):
        asks = twin.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        idle, interval, count, unacknowledged_ms = (
            twin.getsockopt(socket.IPPROTO_TCP, option)
            for option in (
                socket.TCP_KEEPIDLE,
                socket.TCP_KEEPINTVL,
                socket.TCP_KEEPCNT,
                socket.TCP_USER_TIMEOUT,
            )
        )

    assert (1, 12_000) == (asks, unacknowledged_ms)
    assert 12 == idle + interval * count


@pytest.mark.parametrize("part", [{"dbname": "no_such_database"}, {"user": "nobody_here"}])
def test_a_refusal_of_the_servers_is_told_from_one_on_the_way(
    database_url: str, part: dict[str, str]
) -> None:
    """Whoever is refused by the server can reach it."""
    refused = make_conninfo(database_url, **part)
    silent = make_conninfo(database_url, host="127.0.0.1", port="1")

    assert has_answered(refused)
    assert not has_answered(silent)


def has_answered(url: str) -> bool:
    """Return whether the refusal of a connection is an answer."""
    with pytest.raises(connect.Unreachable) as caught:
        connect.connect(DatabaseSettings(database_url=url), name="test")
    return caught.value.has_answered
