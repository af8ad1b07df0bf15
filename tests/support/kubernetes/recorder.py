"""A proxy before a real API server that notes which right each request needs.

It speaks plain HTTP to who asks and hands on who that is: what the server refuses is refused.
"""

import json
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

from tests.support.kubernetes.rights import Right, asked

_PASSED_ON = ("Authorization", "Content-Type", "Accept", "User-Agent")
_TIMEOUT_SECONDS = 400.0
_PIECE_BYTES = 65536


@dataclass(slots=True)
class Noted:
    """The rights that were needed, those that were refused, and where the proxy listens."""

    port: int
    used: set[Right] = field(default_factory=set[Right])
    refused: set[Right] = field(default_factory=set[Right])
    stale: set[str] = field(default_factory=set[str])
    """Paths whose next patch is answered as one that was made against an old version."""
    other: set[str] = field(default_factory=set[str])
    """Requests for what is in no namespace."""


@contextmanager
def recording(server: str, authority: str, *, address: str) -> Generator[Noted]:
    """Listen at the address until the block ends.

    Args:
        server: The API server's URL.
        authority: Its authority's certificate, as PEM.
        address: This machine's, as pods see it.
    """
    trust = ssl.create_default_context(cadata=authority)
    place = urlsplit(server)

    class Handler(_Handler):
        def reached(self) -> HTTPSConnection:
            return HTTPSConnection(
                str(place.hostname), place.port, timeout=_TIMEOUT_SECONDS, context=trust
            )

    with ThreadingHTTPServer((address, 0), Handler) as listening:
        listening.daemon_threads = True
        noted = Noted(listening.server_port)
        Handler.noted = noted
        thread = Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield noted
        finally:
            listening.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    noted: Noted

    def reached(self) -> HTTPSConnection:
        """Return a connection to the API server."""
        raise NotImplementedError

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing: a test's output is the test's."""

    def do_GET(self) -> None:
        self._hand_on()

    def do_POST(self) -> None:
        self._hand_on()

    def do_PUT(self) -> None:
        self._hand_on()

    def do_PATCH(self) -> None:
        self._hand_on()

    def do_DELETE(self) -> None:
        self._hand_on()

    def _hand_on(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        path = self.path.partition("?")[0]
        if self.command == "PATCH" and path in self.noted.stale:
            self.noted.stale.remove(path)
            self._conflict()
            return
        headers = {name: self.headers[name] for name in _PASSED_ON if self.headers[name]}
        connection = self.reached()
        try:
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            self._note(answer.status)
            self._answer(answer)
        except (OSError, HTTPException):
            self.close_connection = True
        finally:
            connection.close()

    def _conflict(self) -> None:
        """Answer as the server does when another client was quicker."""
        said = {"kind": "Status", "apiVersion": "v1", "code": 409, "reason": "Conflict"}
        raw = json.dumps(said).encode()
        self.send_response(409)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _note(self, status: int) -> None:
        try:
            right = asked(self.command, self.path).right
        except ValueError:
            self.noted.other.add(f"{self.command} {self.path}")
            return
        (self.noted.refused if status in {401, 403} else self.noted.used).add(right)

    def _answer(self, answer: HTTPResponse) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", str(answer.getheader("Content-Type")))
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while piece := answer.read1(_PIECE_BYTES):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
