"""The three pages of a service: `/livez`, `/readyz` and `/metrics`.

A thread of its own answers, so a busy loop still counts as alive. Ready means started, schema
checked, and not stopping; it never depends on the database or on work, because restarting a
service that waits for its database does not help.
"""

import socket
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

_REQUEST_SECONDS_MAX = 5
_PATH_BYTES_MAX = 256
_STOP_SECONDS = 0.1


class CannotListen(Exception):
    """The address is taken or not ours; the message is one sentence for people."""


class Health:
    """Serves the pages from `start` until `stop`; a context does both.

    Args:
        ready: Whether to answer `/readyz` with 200. Asked on each request, from another thread.
        registry: What `/metrics` shows.
        port: TCP port; 0 takes a free one, which `port` says after `start`.
        host: Address to listen on; empty is every one, IPv6 too where the machine has it.
    """

    def __init__(
        self,
        *,
        ready: Callable[[], bool],
        registry: CollectorRegistry,
        port: int,
        host: str = "",
    ) -> None:
        self._ready = ready
        self._registry = registry
        self._address = (host, port)
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that is listened on; before `start`, the one that was asked for."""
        return self._address[1] if self._server is None else int(self._server.server_port)

    def start(self) -> None:
        """Listen and answer, on a daemon thread. A repeat does nothing.

        Raises:
            CannotListen: with one sentence that says why and what to do.
        """
        if self._server is not None:
            return
        host, port = self._address
        try:
            self._server = _Server((host, port), self._ready, self._registry)
        except OSError as error:
            raise CannotListen(
                f"FAIRLEAD_HEALTH_PORT: cannot listen on {host or '*'}:{port}: "
                f"{error.strerror or error}; choose another port or address"
            ) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_STOP_SECONDS,), name="health", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop listening; a request under way may still be answered. A repeat does nothing."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is not None and thread is not None:
            server.shutdown()
            server.server_close()
            thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(
        self, address: tuple[str, int], ready: Callable[[], bool], registry: CollectorRegistry
    ) -> None:
        self.ready = ready
        self.registry = registry
        host = address[0]
        if ":" in host or (not host and socket.has_dualstack_ipv6()):
            self.address_family = socket.AF_INET6
        super().__init__(address, _Pages)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Not HTTPServer's, which asks the name service for our name and may wait for it.
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_port = int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing: clients may disconnect at any time."""


class _Pages(BaseHTTPRequestHandler):
    timeout = _REQUEST_SECONDS_MAX

    def do_GET(self) -> None:
        """Answer one request; whatever is not one of the three pages is 404."""
        server = self.server
        assert isinstance(server, _Server)
        path = self.path[:_PATH_BYTES_MAX].partition("?")[0]
        if path == "/livez" or (path == "/readyz" and server.ready()):
            self._answer(HTTPStatus.OK, b"ok\n")
        elif path == "/readyz":
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b"not ready\n")
        elif path == "/metrics":
            encode, content_type = choose_encoder(self.headers.get("Accept", ""))
            self._answer(HTTPStatus.OK, encode(server.registry), content_type)
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"see /livez, /readyz and /metrics\n")

    do_HEAD = do_GET  # noqa: N815 - the same for a probe that wants no body

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
        """Log nothing: probes come every second."""

    def _answer(
        self, status: HTTPStatus, body: bytes, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
