"""What operators do in the console: by their login, in their name; nobody else does a thing."""

import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from fairlead.settings import explain
from fairlead_console.pages import words
from fairlead_console.settings import ConsoleSettings
from tests.support.consoles import browsing
from tests.support.logins import as_login, login
from tests.support.operators import LOGINS, OPERATOR, READER, SAME, post, token
from tests.support.race import Database, insert_one, run_one

_AUDIT = "SELECT verb, actor, reason, login::text FROM fairlead.audit ORDER BY id"
_ASKED = (
    "SELECT (SELECT count(*) FROM fairlead.audit), (SELECT count(*) FROM fairlead.paused),"
    " (SELECT count(*) FROM fairlead.jobs), (SELECT count(*) FROM fairlead.job_history)"
)


def test_an_operator_acts_in_their_own_name(
    client: TestClient, db: Database, operator_login: str
) -> None:
    """The audit log has the person, the reason, and the login that the database knows."""
    job = insert_one(db)
    mine = token(client, f"/jobs/{job}", OPERATOR)

    paused = post(client, "/queues/pause", token=mine, queue="mail", reason="bank is away")
    assert "/queues?done=paused" == paused.headers["location"]
    resumed = post(client, "/queues/resume", token=mine, queue="mail")
    assert "/queues?done=resumed" == resumed.headers["location"]
    again = post(client, "/queues/resume", token=mine, queue="mail")
    assert "/queues?done=was-not" == again.headers["location"]
    cancelled = post(client, f"/jobs/{job}/cancel", token=mine, reason="twice")
    assert f"/jobs/{job}?done=cancelled" == cancelled.headers["location"]
    retried = post(client, f"/jobs/{job}/retry", token=mine)
    assert retried.headers["location"].endswith("?done=retried")

    assert [
        ("pause", "ada", "bank is away", operator_login),
        ("resume", "ada", None, operator_login),
        ("cancel", "ada", "twice", operator_login),
        ("retry", "ada", None, operator_login),
    ] == db.execute(_AUDIT).fetchall()
    assert (
        "The job is cancelled." in client.get(cancelled.headers["location"], auth=OPERATOR).text
    )


def test_an_operator_changes_a_jobs_priority(
    client: TestClient, db: Database, operator_login: str
) -> None:
    """Of one that waits; the page of one that runs has no form for it, and it is refused."""
    job, running = insert_one(db), run_one(db).job
    pages = {each: client.get(f"/jobs/{each}", auth=OPERATOR).text for each in (job, running)}
    given = {"token": token(client, f"/jobs/{job}", OPERATOR), "reason": "it blocks the sale"}

    assert f'action="/jobs/{job}/priority"' in pages[job]
    assert f'action="/jobs/{running}/priority"' not in pages[running]
    for said in ("", "high", "101", "-1000", "--5", "1.5", "٣", "9" * 5000):
        answer = post(client, f"/jobs/{job}/priority", OPERATOR, SAME, **given, priority=said)
        assert (400, True) == (answer.status_code, "-100 to 100" in answer.text)
    asked = {**given, "priority": " -40 "}
    answers = [
        post(client, f"/jobs/{each}/priority", OPERATOR, SAME, **asked)
        for each in (job, job, running, 999)
    ]
    places = [each.headers["location"] for each in answers]

    words = ["changed", "unchanged", "running", "unknown"]
    assert words == [place.partition("=")[2] for place in places]
    assert "The job has its new priority." in client.get(places[0], auth=OPERATOR).text
    assert [(job, -40), (running, 0)] == db.execute(
        "SELECT id, priority FROM fairlead.jobs ORDER BY id"
    ).fetchall()
    assert [("set_priority", "ada", "it blocks the sale", operator_login)] == db.execute(
        _AUDIT
    ).fetchall()


def test_an_operator_switches_a_schedule(
    client: TestClient, db: Database, operator_login: str
) -> None:
    """Off with a reason alone; and what is gone is said to be gone."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, queue, tenant, kind)"
        " VALUES ('nightly', '0 2 * * *', 'mail', 'acme', 'send')"
    )
    which = {
        "token": token(client, "/schedules", OPERATOR),
        "name": "nightly",
        "tenant": "acme",
    }
    off, on = "/schedules/disable", "/schedules/enable"
    enabled = "SELECT enabled FROM fairlead.schedules"

    assert 400 == post(client, off, OPERATOR, SAME, **which, reason=" ").status_code
    assert (True,) == db.execute(enabled).fetchone()
    disabled = post(client, off, OPERATOR, SAME, **which, reason="too many mails")
    assert (False,) == db.execute(enabled).fetchone()
    again = post(client, on, OPERATOR, SAME, **which)
    assert (True,) == db.execute(enabled).fetchone()
    unknown = post(client, on, OPERATOR, SAME, **(which | {"tenant": "globex"}))

    said = [each.headers["location"].partition("=")[2] for each in (disabled, again, unknown)]
    assert ["disabled", "enabled", "no-schedule"] == said
    assert [("ada", "too many mails", operator_login), ("ada", None, operator_login)] == [
        row[1:] for row in db.execute(_AUDIT).fetchall() if row[1] is not None
    ]


def test_an_operator_runs_a_schedule_now(
    client: TestClient, db: Database, operator_login: str
) -> None:
    """It leads to the job; a disabled one runs as well, and what is gone does not."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, queue, tenant, kind, enabled)"
        " VALUES ('nightly', '0 2 * * *', 'mail', 'acme', 'send', false)"
    )
    form, which = 'action="/schedules/run"', {"name": "nightly"}
    assert form in client.get("/schedules", auth=OPERATOR).text
    assert form not in client.get("/schedules", auth=READER).text
    which["token"] = token(client, "/schedules", OPERATOR)

    made = post(client, "/schedules/run", OPERATOR, SAME, **which, tenant="acme")
    unknown = post(client, "/schedules/run", OPERATOR, SAME, **which, tenant="globex")

    assert "/schedules?done=no-schedule" == unknown.headers["location"]
    ((job,),) = db.execute("SELECT id FROM fairlead.jobs WHERE kind = 'send'").fetchall()
    assert f"/jobs/{job}?done=ran" == made.headers["location"]
    said = client.get(made.headers["location"], auth=OPERATOR).text
    assert "When the schedule fires next has not changed." in said
    assert ("run_schedule", "ada", None, operator_login) == db.execute(_AUDIT).fetchall()[-1]


def test_who_acts_sees_at_once_what_it_did(client: TestClient, db: Database) -> None:
    """Though the page that they came from was read a moment ago."""
    insert_one(db)
    mine = token(client, "/queues", OPERATOR)
    assert "bank is away" not in client.get("/queues", auth=OPERATOR).text

    post(client, "/queues/pause", token=mine, queue="default", reason="bank is away")

    assert "bank is away" in client.get("/queues", auth=OPERATOR).text


def test_a_pause_wants_a_reason(client: TestClient, db: Database) -> None:
    """Whoever finds the queue paused wants to know."""
    mine = token(client, "/queues", OPERATOR)

    assert 400 == post(client, "/queues/pause", token=mine, queue="q", reason=" ").status_code
    assert 400 == post(client, "/queues/pause", token=mine, reason="why").status_code
    assert (0, 0, 0, 0) == db.execute(_ASKED).fetchone()


def test_a_pause_is_of_a_tenant_and_for_a_time_where_that_is_said(
    client: TestClient, db: Database
) -> None:
    """The page says until when, and who resumes it before resumes that tenant alone."""
    mine = token(client, "/queues", OPERATOR)
    given = {"token": mine, "queue": "mail", "reason": "because"}

    for lasts in ("soon", "0", "367d", "9" * 30 + "d"):
        said = post(client, "/queues/pause", OPERATOR, SAME, **given, lasts=lasts)
        assert (400, True) == (said.status_code, "For how long" in said.text)
    assert (0, 0, 0, 0) == db.execute(_ASKED).fetchone()
    post(client, "/queues/pause", OPERATOR, SAME, **given, tenant="", lasts="")
    post(client, "/queues/pause", OPERATOR, SAME, **given, tenant="acme", lasts=" 2h ")

    assert [(None, None), ("acme", True)] == db.execute(
        "SELECT tenant, until BETWEEN now() + interval '119 m' AND now() + interval '2 h'"
        " FROM fairlead.paused ORDER BY tenant NULLS FIRST"
    ).fetchall()
    (until,) = db.execute("SELECT max(until) FROM fairlead.paused").fetchone() or (None,)
    ends = f"until {words.instant(until)}"
    assert f", {ends}, by ada: because" in client.get("/queues", auth=OPERATOR).text
    assert f"Its jobs wait {ends}, or until" in client.get("/", auth=OPERATOR).text
    post(client, "/queues/resume", OPERATOR, SAME, **given, tenant="acme")
    assert [(None,)] == db.execute("SELECT tenant FROM fairlead.paused").fetchall()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Referer": "http://127.0.0.1/queues"},
    ],
    ids=str,
)
def test_another_sites_page_has_an_operator_do_nothing(
    client: TestClient, db: Database, headers: dict[str, str]
) -> None:
    """Even with the token, which such a page cannot see."""
    mine = token(client, "/queues", OPERATOR)
    asked = post(
        client, "/queues/pause", headers=headers, token=mine, queue="mail", reason="because"
    )

    assert 403 == asked.status_code
    assert (0, 0, 0, 0) == db.execute(_ASKED).fetchone()


@pytest.mark.parametrize("given", ["", "0" * 64, "ä"])
def test_without_the_token_of_a_page_an_operator_does_nothing(
    client: TestClient, db: Database, given: str
) -> None:
    """So that a browser that sends no Sec-Fetch-Site is safe too."""
    asked = post(client, "/queues/pause", token=given, queue="mail", reason="because")

    assert 403 == asked.status_code
    assert (0, 0, 0, 0) == db.execute(_ASKED).fetchone()


def test_a_token_is_good_at_another_replica_and_for_one_person(
    client: TestClient, database_url: str, operator_login: str, db: Database
) -> None:
    """It is made of what all replicas know, and of a name."""
    mine = token(client, "/queues", OPERATOR)
    with browsing(
        database_url,
        console_logins=LOGINS,
        console_operators="ada, grace",
        console_operator_url=as_login(database_url, operator_login),
    ) as other:
        fields = {"token": mine, "queue": "mail", "reason": "because"}
        assert 303 == post(other, "/queues/pause", OPERATOR, SAME, **fields).status_code
        assert 403 == post(other, "/queues/pause", READER, SAME, **fields).status_code
    assert (1, 1, 0, 0) == db.execute(_ASKED).fetchone()


def test_a_body_of_any_length_is_refused(client: TestClient) -> None:
    """Before it is kept."""
    mine = token(client, "/queues", OPERATOR)
    long = post(client, "/queues/pause", token=mine, queue="mail", reason="x" * 100_000)

    assert 413 == long.status_code


def test_without_a_login_for_it_nobody_acts(database_url: str, db: Database) -> None:
    """Neither on loopback; and to name operators without one is a mistake."""
    with browsing(database_url) as client:
        assert "" == token(client, "/queues", None)
        asked = post(client, "/queues/pause", None, token="", queue="mail", reason="because")
    with pytest.raises(ValidationError) as refused:
        ConsoleSettings(console_operators="ada", console_logins=LOGINS)

    assert 403 == asked.status_code
    assert "FAIRLEAD_CONSOLE_OPERATOR_URL_FILE" in explain(refused.value)
    assert (0, 0, 0, 0) == db.execute(_ASKED).fetchone()


def test_on_loopback_whoever_is_there_acts(
    database_url: str, operator_login: str, db: Database
) -> None:
    """As in `fairlead dev`, where nobody logs in."""
    url = as_login(database_url, operator_login)
    with browsing(database_url, console_operator_url=url) as client:
        mine = token(client, "/queues", None)
        done = post(client, "/queues/pause", None, token=mine, queue="mail", reason="because")

    assert 303 == done.status_code
    assert [("somebody at this machine's console",)] == db.execute(
        "SELECT actor FROM fairlead.audit"
    ).fetchall()


def test_a_login_that_is_no_operators_is_refused_by_the_database(
    database_url: str, db: Database
) -> None:
    """A page says so; what the console believes changes nothing."""
    with login(database_url, "fairlead_viewer") as name:
        url = as_login(database_url, name)
        with browsing(database_url, console_operator_url=url) as client:
            mine = token(client, "/queues", None)
            asked = post(
                client, "/queues/pause", None, token=mine, queue="mail", reason="because"
            )

    assert 503 == asked.status_code
    assert (0, 0, 0, 0) == db.execute(_ASKED).fetchone()
