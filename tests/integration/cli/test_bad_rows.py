"""No command fails for one row, whatever a superuser has stored: it is shown, or set aside."""

from collections.abc import Sequence
from typing import LiteralString

import pytest
from psycopg import sql

from fairlead_cli.main import run
from tests.support import bad_rows
from tests.support.race import (
    Database,
    claim,
    dispatch,
    finish,
    insert,
    lead,
    leading,
    register,
)
from tests.support.sampled import sampled

_LISTS: Sequence[Sequence[str]] = (
    ("jobs", "list", "--limit", "1000"),
    ("jobs", "list", "--state", "failed"),
    ("jobs", "list", "--state", "queued"),
    ("jobs", "list", "--oldest"),
    ("queues",),
    ("tenants",),
    ("tenants", "--hashes"),
    ("workers", "list", "--all"),
    ("schedules", "list"),
    ("audit",),
    ("policy", "history"),
    ("policy", "refusals"),
    ("policy", "show"),
    ("autoscaler",),
    ("autoscaler", "explain", "default"),
    ("trace", "export"),
    ("top", "--count", "1"),
    ("doctor",),
)
_BARE = (("trace", "export"),)
"""Which have no --json."""


def failures(capsys: pytest.CaptureFixture[str], *commands: Sequence[str]) -> dict[str, str]:
    """Run each command, also with --json; return what was no answer of it."""
    found: dict[str, str] = {}
    for words in commands:
        for more in ((),) if tuple(words[:2]) in _BARE else ((), ("--json",)):
            try:
                code = run([*words, *more])
            except Exception as error:  # noqa: BLE001 - what would be a traceback
                found[" ".join((*words, *more))] = repr(error)[:200]
                continue
            said = capsys.readouterr()
            if code == 2:
                found[" ".join((*words, *more))] = said.err
    return found


@pytest.fixture
def service(db: Database, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Database:
    """Return a session of a database whose commands run in this process."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", database_url)
    monkeypatch.setattr("fairlead_cli.commands.explain._ANSWER_TIMEOUT_SECONDS", 0.0)
    lead(db)
    return db


def placed(db: Database, called: str) -> list[int]:
    """Store a job that waits, one that is queued, one that runs and one that has failed."""
    worker, epoch = register(db), leading(db)
    jobs = [bad_rows.bad_job(db, called) for _ in range(4)]
    for job, outcome in zip(jobs, ("failed", "", "", ""), strict=True):
        if job is not jobs[-1]:
            dispatch(db, [job], epoch=epoch)
        if job in jobs[:2]:
            claimed = claim(db, worker)
            if outcome:
                finish(db, claimed, outcome=outcome)
    return jobs


@pytest.mark.parametrize("called", sampled([*bad_rows.JOBS, *bad_rows.ENDLESS], of=4))
def test_no_command_fails_for_a_bad_job(
    called: str, service: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that waits, one that is queued, one that runs and one that has ended."""
    if not bad_rows.exists(service, called):
        pytest.skip("this server has no infinite intervals")
    of_jobs = [
        (*words, str(job))
        for job in placed(service, called)
        for words in (("jobs", "show"), ("explain",))
    ]

    assert {} == failures(capsys, *of_jobs, *_LISTS[:6], ("trace", "export"))


@pytest.mark.parametrize(("table", "values"), bad_rows.OTHERS)
def test_no_command_fails_for_a_bad_row_of_another_table(
    table: LiteralString,
    values: LiteralString,
    service: Database,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As far as the table's own checks let a superuser store it."""
    worker, epoch = register(service), leading(service)
    jobs = insert(service, count=3)
    dispatch(service, jobs, epoch=epoch)
    finish(service, claim(service, worker, limit=1))
    service.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('nightly', '* * * * *', 'k')"
    )
    service.execute("SELECT fairlead.apply_policy('{}', '0123456789ab')")
    with service.transaction():
        service.execute("SET LOCAL session_replication_role = replica")
        change = sql.SQL("UPDATE fairlead.{} SET {}")
        service.execute(change.format(sql.Identifier(table), sql.SQL(values)))

    assert {} == failures(capsys, ("jobs", "show", str(jobs[0])), *_LISTS)
