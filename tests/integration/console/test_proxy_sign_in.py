"""People whom a proxy signs in: they look and act by what it says, and others by nothing."""

import http.client
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient

from tests.support import tree
from tests.support.consoles import SCREENS, browsing, console
from tests.support.logins import as_login
from tests.support.operators import SAME
from tests.support.race import Database

_HEADERS = {
    "console_user_header": "X-Forwarded-User",
    "console_groups_header": "X-Forwarded-Groups",
    "console_trusted_proxies": "10.0.0.7/32",
    "console_operator_groups": "sre",
    "console_host": "192.0.2.7",
}
_ADA = {"X-Forwarded-User": "ada", "X-Forwarded-Groups": "staff,sre"}
_GRACE = {"X-Forwarded-User": "grace", "X-Forwarded-Groups": "staff"}
_BASE = "http://console.example"


@pytest.fixture
def settings(database_url: str, operator_login: str) -> dict[str, str]:
    """Return the settings of a console behind a proxy."""
    return {**_HEADERS, "console_operator_url": as_login(database_url, operator_login)}


@pytest.fixture
def proxied(database_url: str, settings: dict[str, str]) -> Iterator[TestClient]:
    """Yield a client that is the proxy."""
    with browsing(database_url, base=_BASE, peer="10.0.0.7", **settings) as found:
        yield found


def token(client: TestClient, who: Mapping[str, str]) -> str:
    """Return the token that the page of queues shows to somebody; empty: none."""
    page = client.get("/queues", headers=dict(who))
    assert 200 == page.status_code
    return page.text.partition('name="token" value="')[2].partition('"')[0]


def test_who_is_in_a_group_of_operators_acts_in_their_own_name(
    proxied: TestClient, db: Database, operator_login: str
) -> None:
    """Others see no form, and are refused with an operator's token too."""
    fields = {"token": token(proxied, _ADA), "queue": "mail", "reason": "bank is away"}
    assert "" == token(proxied, _GRACE)

    said = [
        proxied.post(
            "/queues/pause", data=fields, headers={**SAME, **who}, follow_redirects=False
        ).status_code
        for who in (_GRACE, {**_GRACE, "X-Forwarded-Groups": ""}, _ADA)
    ]

    assert [403, 403, 303] == said
    assert [("ada", "bank is away", operator_login)] == db.execute(
        "SELECT actor, reason, login::text FROM fairlead.audit"
    ).fetchall()


def test_from_another_address_no_header_lets_anybody_in(
    database_url: str, settings: dict[str, str], db: Database
) -> None:
    """To no page and no script; nor does a password, since there are none."""
    with browsing(database_url, base=_BASE, peer="10.0.0.8", **settings) as client:
        forged = {**_ADA, "X-Forwarded-For": "10.0.0.7", "X-Real-IP": "10.0.0.7"}
        said = {
            client.get(path, headers=forged, auth=("ada", "x")).status_code
            for path in (*SCREENS, "/changes", "/static/console.js", "/nope")
        }
        fields = {"token": "", "queue": "mail", "reason": "because"}
        acted = client.post("/queues/pause", data=fields, headers={**SAME, **forged})

    assert ({401}, 401) == (said, acted.status_code)
    assert (0,) == db.execute("SELECT count(*) FROM fairlead.audit").fetchone()


def asked(address: str, source: str, **headers: str) -> int:
    """Return the status of a request over a connection from an address of this machine."""
    where = urlsplit(address)
    assert where.hostname is not None
    connection = http.client.HTTPConnection(
        where.hostname, where.port, timeout=30, source_address=(source, 0)
    )
    try:
        connection.request("GET", "/jobs", headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.skipif(sys.platform != "linux", reason="needs addresses of Linux's loopback")
def test_what_counts_is_where_the_connection_comes_from(
    database_url: str, tmp_path: Path
) -> None:
    """Of the program, over real connections; for whom the proxy forwards does not matter."""
    trusted = {
        "FAIRLEAD_CONSOLE_USER_HEADER": "X-Forwarded-User",
        "FAIRLEAD_CONSOLE_TRUSTED_PROXIES": "127.0.0.2/32",
    }
    user = {"X-Forwarded-User": "ada"}
    forwarded = {**user, "X-Forwarded-For": "127.0.0.2", "X-Forwarded-Proto": "https"}
    with console(database_url, tmp_path, **trusted) as address:
        assert 200 == asked(address, "127.0.0.2", **user)
        assert 200 == asked(address, "127.0.0.2", **{**user, "X-Forwarded-For": "192.0.2.1"})
        assert 401 == asked(address, "127.0.0.2")
        for elsewhere in ("127.0.0.1", "127.0.0.3"):
            assert 401 == asked(address, elsewhere, **user)
            assert 401 == asked(address, elsewhere, **forwarded)


def test_a_header_that_would_be_believed_from_nobody_is_refused_at_the_start(
    database_url: str,
) -> None:
    """In one sentence."""
    ended = subprocess.run(
        [sys.executable, "-m", "fairlead_console.main", "--port", "0"],
        env={
            **os.environ,
            "FAIRLEAD_DATABASE_URL": database_url,
            "FAIRLEAD_CONSOLE_USER_HEADER": "X-Forwarded-User",
            "PYTHONPATH": tree.SOURCES,
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert 2 == ended.returncode
    assert "" == ended.stdout
    (line,) = ended.stderr.splitlines()
    assert "FAIRLEAD_CONSOLE_TRUSTED_PROXIES, such as 10.0.0.7/32" in line
