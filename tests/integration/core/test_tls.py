"""`sslmode=verify-full` lets nobody in the database's place, and says what to mend."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from fairlead.inspection.doctor.facts import Transport
from fairlead.inspection.doctor.reader import Reader
from fairlead_autoscaler.service import wait_for_schema
from fairlead_autoscaler.settings import AutoscalerSettings
from tests.conftest import Background
from tests.integration.conftest import Fairlead
from tests.support import certificates
from tests.support.certificates import TlsServer, make_authority, make_certificate
from tests.support.logged import Lines
from tests.support.tree import SOURCES
from tests.support.waiting import until

pytestmark = pytest.mark.any_server
if why := certificates.missing():
    pytest.skip(why, allow_module_level=True)

WRONG = {
    "expired": "has expired: renew it on the server",
    "other_host": 'is for "db.example" and not for the host "localhost": connect by a name',
    "other_authority": "is not signed by the authority in",
}
PROGRAMS = {
    "scheduler": (
        ["fairlead_scheduler.main"],
        "SELECT FROM fairlead.leaders WHERE lease_until > now()",
    ),
    "worker": (
        ["fairlead_worker.main", "--app", "tests.support.child_app:tasks"],
        "SELECT FROM fairlead.workers WHERE state = 'live'",
    ),
}


@pytest.fixture(scope="module")
def tls() -> Iterator[TlsServer]:
    """Yield a server with a right certificate and three wrong ones to show."""
    with certificates.tls_server() as made:
        folder = made.certificates
        for authority in ("ours", "theirs"):
            make_authority(folder, authority)
        for name, host, days, authority in (
            ("right", "localhost", 2, "ours"),
            ("expired", "localhost", -1, "ours"),
            ("other_host", "db.example", 2, "ours"),
            ("other_authority", "localhost", 2, "theirs"),
        ):
            make_certificate(folder, name, host=host, days=days, authority=authority)
        yield made


@pytest.fixture
def command(tls: TlsServer, fairlead: Fairlead, monkeypatch: pytest.MonkeyPatch) -> Fairlead:
    """Return what runs a command on that server, which it verifies."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", tls.verified_by("ours"))
    return fairlead


def is_logged(sentence: str, log: Path) -> bool:
    """Return whether a line of JSON says so."""
    return sentence in log.read_text().replace('\\"', '"')


@pytest.mark.parametrize("wrong", WRONG)
def test_a_command_refuses_a_wrong_certificate_in_one_sentence(
    tls: TlsServer, command: Fairlead, wrong: str
) -> None:
    """The sentence has the cause and the fix; exit code 2. The right one is accepted."""
    tls.show(wrong)
    said = command("queues", code=2)

    assert said.startswith("fairlead: the database's certificate")
    assert WRONG[wrong] in said
    assert 1 == len(said.splitlines())

    tls.show("right")
    assert "no queue has unfinished work" in command("queues")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_service_waits_for_the_right_certificate(
    tls: TlsServer, tmp_path: Path, program: str
) -> None:
    """It logs what is wrong with each, and works once it is right, without a restart."""
    words, arrived = PROGRAMS[program]
    log = tmp_path / "log"
    tls.show("expired")
    with log.open("w") as output, psycopg.connect(tls.server.url, autocommit=True) as db:
        running = subprocess.Popen(
            [sys.executable, "-m", *words],
            env={
                **os.environ,
                "FAIRLEAD_DATABASE_URL": tls.verified_by("ours"),
                "PYTHONPATH": SOURCES,
            },
            stderr=output,
        )
        try:
            for wrong, sentence in WRONG.items():
                tls.show(wrong)
                until(partial(is_logged, sentence, log), what=wrong, seconds=30)
            assert db.execute(arrived.encode()).fetchone() is None
            tls.show("right")
            until(
                lambda: db.execute(arrived.encode()).fetchone() is not None,
                what="arrival",
                seconds=30,
            )
        finally:
            running.terminate()
            running.wait(timeout=30)


def test_the_autoscaler_waits_for_the_right_certificate(
    tls: TlsServer, background: Background, logged: Lines
) -> None:
    """So does the autoscaler, before it asks anything of the cluster."""
    tls.show("other_authority")
    stop = threading.Event()
    settings = AutoscalerSettings.model_validate({"database_url": tls.verified_by("ours")})
    waiting = background(lambda: wait_for_schema(settings, stop))
    try:
        until(
            lambda: any(WRONG["other_authority"] in str(line) for line in logged()), what="why"
        )
        tls.show("right")
        assert waiting.result(timeout=30)
    finally:
        stop.set()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sslrootcert": "/nowhere.crt"}, "does not exist: put it at /nowhere.crt"),
        ({"sslrootcert": "system"}, "is not signed by the authority in system"),
    ],
)
def test_an_authority_that_is_not_there_is_named(
    tls: TlsServer,
    fairlead: Fairlead,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    sentence: str,
) -> None:
    """A missing file, or the system's authorities for a certificate of one's own."""
    tls.show("right")
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", tls.url(sslmode="verify-full", **options))

    assert sentence in fairlead("queues", code=2)


def test_the_doctor_reads_how_it_is_connected(tls: TlsServer) -> None:
    """What it says of a connection follows from the host, encryption and sslmode."""
    tls.show("right")
    found: list[Transport | None] = []
    for url in (tls.verified_by("ours"), tls.url(sslmode="disable")):
        with psycopg.connect(url, autocommit=True) as connection:
            found.append(Reader(connection).read_setup()[0].transport)

    verified, plain = found
    assert (
        Transport(host="localhost", local=True, encrypted=True, sslmode="verify-full")
        == verified
    )
    assert Transport(host="localhost", local=True, encrypted=False, sslmode="disable") == plain


def test_a_server_without_tls_is_refused(
    database_url: str, fairlead: Fairlead, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A man in the middle that offers none gets no password."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", f"{database_url}?sslmode=verify-full")
    monkeypatch.setenv("PGSSLROOTCERT", "system")

    assert "the database offers no TLS, and sslmode demands it" in fairlead("queues", code=2)
