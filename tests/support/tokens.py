"""Passwords that expire, handed out as a cloud's metadata service does; and a proxy for pods.

Pods ask for the password over HTTP, by a command that runs before each connection.
"""

import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from psycopg import Connection, sql
from psycopg.rows import TupleRow

from tests.support import cluster
from tests.support.chart import Object
from tests.support.outside import LOGINS, PASSWORD

PROXY_PORT = 6432
"""Where a pod finds its database, on its own loopback."""

_END_SESSIONS = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename LIKE 'app\\_%'
"""
_ASK = """
import os, urllib.request
url = "http://{address}:{port}/" + os.environ["PGUSER"]
print(urllib.request.urlopen(url, timeout=20).read().decode())
"""
_FORWARD = """
import asyncio, os, signal

async def pump(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()

async def serve(reader, writer):
    try:
        up = await asyncio.open_connection({host!r}, {port})
    except OSError:
        writer.close()
        return
    await asyncio.gather(pump(reader, up[1]), pump(up[0], writer))

async def main():
    listening = await asyncio.start_server(serve, "127.0.0.1", {own})
    await listening.serve_forever()

signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
asyncio.run(main())
"""


@dataclass(slots=True)
class Tokens:
    """The password that every login has now, and how often it was asked for."""

    port: int
    password: str = PASSWORD
    asked: int = 0

    @property
    def command(self) -> str:
        """The command that prints it in a pod."""
        script = _ASK.format(address=cluster.NODE_ADDRESS, port=self.port).strip()
        return f"python3 -c '{script}'"

    def change(self, db: Connection[TupleRow]) -> None:
        """Give every login another password; the former one is refused at once."""
        password = secrets.token_hex(12)
        with db.transaction():
            for login in LOGINS:
                db.execute(
                    sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                        sql.Identifier(f"app_{login}"), sql.Literal(password)
                    )
                )
        self.password = password


def end_sessions(db: Connection[TupleRow]) -> int:
    """End every session of the programs, so that each connects anew; return how many."""
    (ended,) = db.execute(_END_SESSIONS).fetchone() or (0,)
    return int(ended)


@contextmanager
def served() -> Generator[Tokens]:
    """Hand out passwords at this machine's address until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            tokens.asked += 1
            self.send_response(200)
            self.end_headers()
            self.wfile.write(tokens.password.encode())

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Say nothing: a test's output is the test's."""

    with ThreadingHTTPServer((cluster.NODE_ADDRESS, 0), Handler) as listening:
        listening.daemon_threads = True
        tokens = Tokens(listening.server_port)
        thread = Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        try:
            yield tokens
        finally:
            listening.shutdown()
            thread.join()


def proxy(port: int) -> Object:
    """Return a sidecar that hands a pod's connections on to this machine's port."""
    script = _FORWARD.format(host=cluster.NODE_ADDRESS, port=port, own=PROXY_PORT)
    return {
        "name": "proxy",
        "image": cluster.IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", script],
        "restartPolicy": "Always",
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
    }
