"""A slow network: a relay that delays what programs send to the server.

A deposed leader's message may arrive when another one leads. The relay makes it so: it holds a
message with certain words, and everything sent after it, until the test releases it. It may
also delay everything, in both directions.
"""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from time import sleep

_READ_BYTES = 1 << 16
_TAIL_BYTES = 200


class Relay:
    """Forwards connections to a port of this machine; see `relaying`.

    Args:
        port: The server's port.
        delay: Draws the seconds for which the next part of a message is held.
    """

    def __init__(self, port: int, delay: Callable[[], float] | None = None) -> None:
        self._delay = delay
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = threading.Event()
        self._open.set()
        self._words: bytes | None = None
        self._ends: list[socket.socket] = []
        self.holds = threading.Event()
        """Set when the message with the words has arrived and waits."""
        self.answer = b""
        """The server's answer on that connection after the release."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """The relay's port."""
        return int(self._listener.getsockname()[1])

    def hold(self, words: bytes) -> None:
        """Hold the next message with these words, and all that follow it."""
        self._words = words

    def let_go(self) -> None:
        """Forward what was held."""
        self._words = None
        self._open.set()

    def close(self) -> None:
        """Close all connections."""
        self.let_go()
        for each in (self._listener, *self._ends):
            with suppress(OSError):  # the other side was first
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                client, _ = self._listener.accept()
                self._begin(client)

    def _begin(self, client: socket.socket) -> None:
        server = socket.create_connection(self._server)
        self._ends += [client, server]
        chosen = threading.Event()
        for work in (self._carry_out, self._carry_back):
            threading.Thread(target=work, args=(client, server, chosen), daemon=True).start()

    def _carry_out(
        self, client: socket.socket, server: socket.socket, chosen: threading.Event
    ) -> None:
        tail = b""
        with suppress(OSError):  # either end was cut
            while data := client.recv(_READ_BYTES):
                tail = tail[-_TAIL_BYTES:] + data
                if self._words is not None and self._open.is_set() and self._words in tail:
                    self._open.clear()
                    chosen.set()
                    self.holds.set()
                self._open.wait()
                self._wait()
                server.sendall(data)
        _shut(server)

    def _carry_back(
        self, client: socket.socket, server: socket.socket, chosen: threading.Event
    ) -> None:
        with suppress(OSError):  # either end was cut
            while data := server.recv(_READ_BYTES):
                if chosen.is_set():
                    self.answer += data
                self._wait()
                client.sendall(data)
        _shut(client)

    def _wait(self) -> None:
        if self._delay is not None:
            sleep(self._delay())


def _shut(end: socket.socket) -> None:
    with suppress(OSError):  # it is closed
        end.shutdown(socket.SHUT_WR)


@contextmanager
def relaying(port: int, delay: Callable[[], float] | None = None) -> Generator[Relay]:
    """Yield a relay to a port of this machine; close its connections at the end."""
    relay = Relay(port, delay)
    try:
        yield relay
    finally:
        relay.close()
