"""A stretch of network that may be slow: it holds back what programs send to the server.

What a frozen leader had sent may arrive when another one leads. The relay makes it so: it holds
back a message with certain words, and everything that is sent after it, until the test lets go.
"""

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

_READ_BYTES = 1 << 16
_TAIL_BYTES = 200


class Relay:
    """Passes connections on to a port of this machine; see `relaying`.

    Args:
        port: where the server listens.
    """

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open = threading.Event()
        self._open.set()
        self._words: bytes | None = None
        self._ends: list[socket.socket] = []
        self.holds = threading.Event()
        """Set when the message with the words has come, and waits."""
        self.answer = b""
        """What the server has answered on that connection after the message was let go."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where the relay listens."""
        return int(self._listener.getsockname()[1])

    def hold(self, words: bytes) -> None:
        """Hold back the next message with these words, and all that comes after it."""
        self._words = words

    def let_go(self) -> None:
        """Pass on what was held back."""
        self._words = None
        self._open.set()

    def close(self) -> None:
        """Cut everything."""
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
                server.sendall(data)
        _shut(server)

    def _carry_back(
        self, client: socket.socket, server: socket.socket, chosen: threading.Event
    ) -> None:
        with suppress(OSError):  # either end was cut
            while data := server.recv(_READ_BYTES):
                if chosen.is_set():
                    self.answer += data
                client.sendall(data)
        _shut(client)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):  # it is closed
        end.shutdown(socket.SHUT_WR)


@contextmanager
def relaying(port: int) -> Generator[Relay]:
    """Yield a relay to a port of this machine, and cut what goes through it at the end."""
    relay = Relay(port)
    try:
        yield relay
    finally:
        relay.close()
