"""Every session of a service notices that its network path is gone, and soon."""

import os
import socket
import sys

import pytest

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
