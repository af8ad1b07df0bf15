"""The console of `fairlead dev`: it acts on the project's server, and looks at one's own."""

import re
from collections.abc import Generator
from contextlib import contextmanager

import httpx2
import psycopg
import pytest

from fairlead_cli.dev.local_console import operator_url
from tests.support.dev import Dev, running_dev
from tests.support.race import Database
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_SAME = {"Sec-Fetch-Site": "same-origin"}


@contextmanager
def browsing(dev: Dev) -> Generator[httpx2.Client]:
    """Yield a client of the console, once it answers with a page."""
    (address,) = re.findall(r"Console: (http://\S+)", dev.said.read_text())
    with httpx2.Client(base_url=address, timeout=30) as client:

        def is_up() -> bool:
            try:
                return client.get("/queues").status_code == 200
            except httpx2.TransportError:
                return False

        until(is_up, what="the console", seconds=60)
        yield client


def token(client: httpx2.Client) -> str:
    """Return what the page of queues shows to those who may act; empty: nothing."""
    found = re.search('name="token" value="([0-9a-f]+)"', client.get("/queues").text)
    return found[1] if found else ""


def test_it_acts_on_the_project_s_server() -> None:
    """In the name of somebody at this machine, with the reason that was typed."""
    with running_dev() as dev, browsing(dev) as client:
        form = {"token": token(client), "queue": "mail", "reason": "to see what happens"}
        answer = client.post("/queues/pause", data=form, headers=_SAME)

        assert 303 == answer.status_code
        with psycopg.connect(dev.url) as connection:
            said = connection.execute("SELECT verb, queue, reason FROM fairlead.audit")
            assert [("pause", "mail", "to see what happens")] == said.fetchall()


def test_it_looks_at_a_database_of_one_s_own(database_url: str, db: Database) -> None:
    """Whoever reaches the address would act with the developer's rights there."""
    with running_dev(own=database_url) as dev, browsing(dev) as client:
        answer = client.post("/queues/pause", data={"queue": "mail"}, headers=_SAME)

        assert ("", 403) == (token(client), answer.status_code)
    assert [(0,)] == db.execute("SELECT count(*) FROM fairlead.paused").fetchall()


@pytest.mark.parametrize("name", ["URL", "URL_FILE"])
def test_the_environment_names_an_operator(name: str) -> None:
    """It is followed, whichever the database is."""
    given = {f"FAIRLEAD_CONSOLE_OPERATOR_{name}": "named"}
    assert "" == operator_url("postgresql:///dev", given, is_own=False)
    assert "postgresql:///dev" == operator_url("postgresql:///dev", {}, is_own=False)
