"""The screens over a real database: what each says, also when something is wrong."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from starlette.testclient import TestClient

from fairlead import policy_storage
from tests.support.bad_rows import JOBS
from tests.support.children import register
from tests.support.consoles import browsing
from tests.support.race import Database, insert_one
from tests.support.schedulers import scheduling
from tests.support.waiting import until

_LIMITED = "queues: [{match: {queue: mail}, slots: {limit: 1}}]"
_HISTORY = (
    "INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts,"
    " crashes, losses, priority, outcome, queue, tenant, kind, error)"
    " SELECT -n, now(), now(), 1, 1, 0, 0, 0, 'failed', 'mail', 'acme', 'send', 'boom'"
    " FROM generate_series(1, %s) n"
)


@pytest.fixture
def client(database_url: str) -> Iterator[TestClient]:
    """Yield a client of a console as a developer has it."""
    with browsing(database_url, console_payloads=True) as found:
        yield found


def jobs(db: Database, count: int, *, queue: str = "mail", tenant: str = "acme") -> list[int]:
    """Insert jobs; return their ids."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind, payload)"
        " SELECT %s, %s, 'send', '{\"to\": \"ada\"}' FROM generate_series(1, %s) RETURNING id",
        [queue, tenant, count],
    )
    return [int(row[0]) for row in rows.fetchall()]


def shown(client: TestClient, path: str, *, status: int = 200) -> str:
    """Return the text of a page."""
    answer = client.get(path)
    assert status == answer.status_code, answer.text
    return answer.text


def test_a_fleet_without_jobs_has_pages_that_say_what_to_do(client: TestClient) -> None:
    """The first thing that a newcomer sees is no empty table."""
    assert "No queue has unfinished work" in shown(client, "/")
    assert "No worker is there" in shown(client, "/")
    assert "No job is like that" in shown(client, "/jobs")
    assert "No tenant has unfinished work" in shown(client, "/tenants")


def test_the_overview_says_first_what_is_wrong_and_names_the_oldest_wait(
    client: TestClient, db: Database
) -> None:
    """Without a scheduler nothing is dispatched."""
    jobs(db, 3)
    db.execute("SELECT fairlead.pause('exports')")

    def is_told() -> bool:
        page = shown(client, "/")
        return "stop work" in page or "Work stands still" in page

    until(is_told, what="the doctor's findings", seconds=30)
    page = shown(client, "/")
    assert "paused: queue “exports”" in page
    assert '<a href="/jobs?state=pending&amp;queue=mail">mail</a>' in page


def test_a_job_that_waits_says_why(client: TestClient, db: Database, database_url: str) -> None:
    """Without a leader the tables know; with one it answers."""
    *_, last = jobs(db, 3)
    assert "No scheduler leads" in shown(client, f"/jobs/{last}")

    policy_storage.store(db, _LIMITED)
    register(db, slots=2)
    with scheduling(database_url):
        until(
            lambda: "The limit of its queue is reached" in shown(client, f"/jobs/{last}"),
            what="an answer of the leader",
            seconds=30,
        )
        page = shown(client, f"/jobs/{last}")

    assert "What is ahead of it?" in page
    assert "1 job</p>" in page


def test_a_job_that_failed_says_where(client: TestClient, db: Database) -> None:
    """Its errors, and what was done by hand."""
    db.execute(_HISTORY, [1])
    db.execute(
        "INSERT INTO fairlead.attempt_errors (job_id, attempt, token, at, error, ended_as)"
        " VALUES (-1, 1, 1, now(), E'ValueError: no\\n  a.py:7 in send\\n    1 / 0', 'failed')"
    )

    page = shown(client, "/jobs?state=failed")
    assert "boom" in page
    assert "/jobs/-1" in page


def test_the_list_goes_on_from_the_last_id(client: TestClient, db: Database) -> None:
    """No page is shown twice, and none is left out."""
    made = jobs(db, 120)
    seen: list[int] = []
    path: str | None = "/jobs?queue=mail"
    while path is not None:
        page = shown(client, path)
        rows = page.split("<tbody>")[1].split("</tbody>")[0].split('<a href="/jobs/')[1:]
        seen += [int(row.split('"')[0]) for row in rows]
        older = page.partition('" rel="next">')[0].rpartition('href="')[2]
        path = older.replace("&amp;", "&") if 'rel="next"' in page else None

    assert made[::-1] == seen


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("queue=mail", 2),
        ("tenant=globex", 3),
        ("queue=mail&tenant=globex", 0),
        ("kind=send", 5),
        ("kind=other", 0),
        ("state=pending", 5),
        ("state=running", 0),
        ("state=nonsense&before=x", 5),
    ],
)
def test_the_list_passes_what_the_address_asks_for(
    client: TestClient, db: Database, query: str, found: int
) -> None:
    """What makes no sense is left out."""
    jobs(db, 2)
    jobs(db, 3, queue="reports", tenant="globex")

    page = shown(client, f"/jobs?{query}")

    assert found == page.count("<tr>") - (1 if found else 0)


def test_payloads_are_hidden_unless_they_are_allowed(database_url: str, db: Database) -> None:
    """They are what handlers are given, and not everybody's to read."""
    (job,) = jobs(db, 1)
    for allowed in (False, True):
        with browsing(database_url, console_payloads=allowed) as client:
            page = shown(client, f"/jobs/{job}")

        assert allowed == ("&#34;to&#34;: &#34;ada&#34;" in page)
        assert allowed != ("are hidden" in page)


def test_no_row_that_a_superuser_can_store_breaks_a_page(
    client: TestClient, db: Database
) -> None:
    """Infinite instants, priorities at their ends, durations of ages."""
    db.execute("ALTER TABLE fairlead.jobs DISABLE TRIGGER ALL")
    for each in db.execute(
        "SELECT conname FROM pg_constraint WHERE conrelid = 'fairlead.jobs'::regclass"
        " AND contype = 'c'"
    ).fetchall():
        db.execute(f'ALTER TABLE fairlead.jobs DROP CONSTRAINT "{each[0]}"'.encode())
    made = {name: insert_one(db) for name in JOBS}
    for name, job in made.items():
        changed = ", ".join(f"{column} = {value}" for column, value in JOBS[name].items())
        db.execute(f"UPDATE fairlead.jobs SET {changed} WHERE id = {job}".encode())

    answers = {name: client.get(f"/jobs/{job}").status_code for name, job in made.items()}
    assert {} == {name: status for name, status in answers.items() if status != 200}
    for path in ("/", "/jobs", "/tenants"):
        shown(client, path)


def test_a_number_leads_to_its_job_and_what_is_none_to_the_list(client: TestClient) -> None:
    """As it is typed, with a sign before it or not."""
    for said, path in (
        ("7", "/jobs/7"),
        (" #12 ", "/jobs/12"),
        ("x", "/jobs"),
        ("9" * 30, "/jobs"),
    ):
        answer = client.get("/jobs/find", params={"id": said}, follow_redirects=False)
        assert (303, path) == (answer.status_code, answer.headers["location"])


@pytest.mark.parametrize(
    "path", ["/jobs/0", "/jobs/99999999999999999999", "/nope", "/static/no"]
)
def test_what_is_not_there_is_said(client: TestClient, path: str) -> None:
    """With the status that says so."""
    shown(client, path, status=404)


def test_a_database_that_is_away_is_said_and_comes_back(
    database_url: str, client: TestClient, db: Database
) -> None:
    """Without a restart of the console."""
    away = make_conninfo(database_url, port=1)
    with browsing(away) as lost:
        page = shown(lost, "/", status=503)
    assert "The database is away" in page
    shown(client, "/jobs")
    db.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name LIKE '%console%'"
    )

    shown(client, "/jobs", status=503)
    shown(client, "/jobs")


def test_a_page_refuses_what_is_not_reading(client: TestClient) -> None:
    """There is nothing to do by it."""
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", "/jobs", "/jobs/1", "/changes"):
            assert 405 == client.request(method, path).status_code


def test_every_answer_keeps_the_page_to_itself(client: TestClient) -> None:
    """Nothing inline, no frame around it, and nothing of it kept."""
    for path in ("/", "/jobs/1", "/static/console.js", "/nope"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "nosniff" == headers["x-content-type-options"]
        assert "server" not in headers


def test_without_logins_it_answers_to_loopbacks_names_only(database_url: str) -> None:
    """A page of another site cannot read it by a name that it points here."""
    with browsing(database_url, base="http://evil.example") as client:
        answer = client.get("/jobs")

    assert 400 == answer.status_code
    assert "Jobs" not in answer.text


def test_with_logins_only_who_knows_one_comes_in(database_url: str) -> None:
    """By whichever name, and to every page, the scripts too."""
    base = "http://console.example"
    with browsing(
        database_url,
        base=base,
        console_host="192.0.2.7",
        console_logins="ada:secret\nbo:x:y",
    ) as client:
        for path in ("/", "/jobs", "/changes", "/static/console.js", "/nope"):
            refused = client.get(path)
            assert 401 == refused.status_code
            assert refused.headers["www-authenticate"].startswith("Basic ")
        for wrong in (
            ("ada", "Secret"),
            ("ada", ""),
            ("", ""),
            ("bo", "x"),
            ("ada:secret", ""),
        ):
            assert 401 == client.get("/jobs", auth=wrong).status_code
        for garbage in ("Basic", "Basic %%%", "Basic /w==", "Bearer ada:secret"):
            assert 401 == client.get("/jobs", headers={"authorization": garbage}).status_code
        for right in (("ada", "secret"), ("bo", "x:y")):
            assert 200 == client.get("/jobs", auth=right).status_code


def test_a_slow_database_is_given_up(client: TestClient, database_url: str) -> None:
    """After three seconds, and the page says so."""
    with psycopg.connect(database_url) as holder:
        holder.execute("LOCK TABLE fairlead.work_queue IN ACCESS EXCLUSIVE MODE")
        page = shown(client, "/jobs?state=running", status=503)

    assert "The database is slow" in page
