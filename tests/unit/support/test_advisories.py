"""The check for vulnerabilities of pins: it fails for one, and never for want of a net."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.support.advisories import check

PINS = {("good", "1.0"), ("bad", "2.0")}


@dataclass(slots=True)
class Database:
    """What answers in OSV's place."""

    url: str = ""
    body: bytes = b""
    asked: list[object] = field(default_factory=list[object])

    def knows(self, **advisories: str) -> None:
        """Answer that these packages have an advisory, in the order of their names."""
        names = sorted(name for name, _ in PINS)
        results = [
            {"vulns": [{"id": advisories[each], "modified": "2026-01-01T00:00:00Z"}]}
            if each in advisories
            else {}
            for each in names
        ]
        self.body = json.dumps({"results": results}).encode()


@pytest.fixture
def database() -> Iterator[Database]:
    """Yield a database of advisories on the loopback interface."""
    made = Database()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            made.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(made.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        made.url = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield made
        server.shutdown()
        thread.join()


def test_a_pin_with_an_advisory_fails_and_is_named(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the advisory, and what to do."""
    database.knows(bad="GHSA-1")

    assert 1 == check(PINS, url=database.url, cache=tmp_path)

    said = capsys.readouterr().out
    assert said.startswith("advisories: bad 2.0 has GHSA-1 (https://osv.dev/GHSA-1): run")
    assert "good" not in said
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in sorted(PINS)
    ]
    assert [{"queries": queries}] == database.asked


def test_an_accepted_advisory_passes(database: Database, tmp_path: Path) -> None:
    """One without a fix must not stop all work."""
    database.knows(bad="GHSA-1")

    assert 0 == check(PINS, url=database.url, cache=tmp_path, accepted={"GHSA-1": "why"})


def test_it_asks_once_a_day(database: Database, tmp_path: Path) -> None:
    """The second check of a day asks nobody; other pins are another question."""
    database.knows()
    (tmp_path / "advisories-2000-01-01-0.json").touch()

    assert [0, 0] == [check(PINS, url=database.url, cache=tmp_path) for _ in range(2)]
    assert 1 == len(database.asked)
    assert 1 == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b"{}", b'{"results": []}'])
def test_what_is_no_database_is_said_and_passes(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    """A proxy's page, for example; it is not kept."""
    database.body = body

    assert 0 == check(PINS, url=database.url, cache=tmp_path)
    assert "not checked" in capsys.readouterr().out
    assert [] == list(tmp_path.iterdir())


def test_without_a_net_one_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the check passes."""
    assert 0 == check(PINS, url="http://127.0.0.1:1/", cache=tmp_path)

    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("advisories: not checked, since http://127.0.0.1:1/ cannot be asked")
