"""TCP ports on loopback for the servers and pages of one machine's fleet."""

import random
import socket


def free_port() -> int:
    """Return a free port below the range that the system gives to outgoing connections.

    While a server restarts, its clients knock at its port. If that port were one that the
    system hands out, a knocking client could be given it, connect to itself and keep the server
    from binding it. Nothing keeps another program from taking the port before the caller does.
    """
    drawn = random.SystemRandom()
    while True:
        port = drawn.randrange(15_000, 30_000)
        if is_free(port):
            return port


def is_free(port: int) -> bool:
    """Tell whether a server can have this port, which it binds as it is bound here."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:  # taken
            return False
    return True
