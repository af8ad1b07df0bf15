"""What is done to many jobs at once: shown first, done in steps, and no more than was meant."""

from collections import Counter

import pytest
from starlette.testclient import TestClient

from fairlead_console.reads import many
from fairlead_console.web import acting
from tests.conftest import Connect
from tests.support.forms import Page
from tests.support.operators import OPERATOR, READER, SAME, known, post, token
from tests.support.race import Database

_JOBS = (
    "INSERT INTO fairlead.jobs (queue, tenant, kind, run_at)"
    " SELECT %s, %s, 'send', CASE WHEN n %% 4 = 0 THEN now() + interval '1 hour' END"
    " FROM generate_series(1, %s) n"
)
_FAILED = """
    INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts,
        crashes, losses, priority, outcome, queue, tenant, kind, payload)
    SELECT %s + n, now(), now() - n * interval '1 minute', 1, 1, 0, 0, 0, 'failed', 'mail',
        'acme', CASE WHEN n %% 2 = 0 THEN 'send' ELSE 'sort' END, '{}'
    FROM generate_series(1, %s) n
"""
_LEFT = "SELECT queue, tenant, count(*) FROM fairlead.jobs GROUP BY 1, 2 ORDER BY 1, 2"
_AUDIT = "SELECT DISTINCT verb, actor, reason, login::text FROM fairlead.audit"


@pytest.fixture
def stepwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each step be one batch."""
    monkeypatch.setattr(acting, "_STEP_SECONDS", 0.0)


def begun(client: TestClient, path: str) -> dict[str, str]:
    """Return the fields of the form that a preview shows."""
    page = client.get(path, headers=known(OPERATOR))
    assert 200 == page.status_code
    (form,) = Page(page.text).forms
    return form.fields


def done(client: TestClient, path: str, fields: dict[str, str]) -> tuple[int, str]:
    """Go on until it is done; return how many steps it took, and the last page."""
    for step in range(1, 100):
        answer = post(client, path, OPERATOR, SAME, **fields)
        assert 200 == answer.status_code
        forms = Page(answer.text).forms
        if not forms:
            return step, answer.text
        fields = forms[0].fields
    raise AssertionError("it does not end")


def test_unfinished_jobs_are_counted_and_then_cancelled(
    client: TestClient, db: Database, operator_login: str
) -> None:
    """Those of the filter alone, in the person's name."""
    for queue, tenant, count in (
        ("mail", "acme", 8),
        ("mail", "globex", 2),
        ("fax", "acme", 1),
    ):
        db.execute(_JOBS, [queue, tenant, count])
    path = "/jobs/all/cancel?queue=mail&tenant=acme"
    listed = client.get("/jobs?queue=mail&tenant=acme", headers=known(OPERATOR)).text
    shown = client.get(path, headers=known(OPERATOR)).text

    assert "/jobs/all/cancel?queue=mail&amp;tenant=acme" in listed
    assert "<dt>scheduled</dt><dd>2</dd>" in shown
    assert "<dt>pending</dt><dd>6</dd>" in shown
    assert "Cancel 8 jobs" in shown
    steps, text = done(client, path, begun(client, path))

    assert 1 == steps
    assert "It is done" in text
    assert '<span class="figure">8</span> cancelled' in text
    assert [("fax", "acme", 1), ("mail", "globex", 2)] == db.execute(_LEFT).fetchall()
    assert [("cancel_jobs", "ada", "because", operator_login)] == db.execute(_AUDIT).fetchall()
    assert "No unfinished job is like that" in client.get(path, headers=known(OPERATOR)).text


@pytest.mark.usefixtures("stepwise")
def test_it_goes_step_by_step_and_ends_though_more_come(
    client: TestClient, db: Database
) -> None:
    """Of those that come meanwhile at most a batch is taken."""
    db.execute(_JOBS, ["mail", "acme", 1200])
    path = "/jobs/all/cancel?kind=send"
    fields = begun(client, path)
    db.execute(_JOBS, ["mail", "late", 2000])

    steps, text = done(client, path, fields)

    assert 3 == steps
    assert '<span class="figure">1,500</span> cancelled' in text
    assert [("mail", "late", 1700)] == db.execute(_LEFT).fetchall()


def test_what_others_hold_is_left_and_said(
    client: TestClient, db: Database, connect: Connect
) -> None:
    """It waits for nobody's transaction."""
    db.execute(_JOBS, ["mail", "acme", 3])
    other = connect()
    with other.transaction():
        other.execute("SELECT FROM fairlead.jobs LIMIT 1 FOR UPDATE")
        path = "/jobs/all/cancel?queue=mail"
        _, text = done(client, path, begun(client, path))

    assert '<span class="figure">1</span> left, since another transaction holds them' in text
    assert [("mail", "acme", 1)] == db.execute(_LEFT).fetchall()


def test_failed_jobs_run_again_once(
    client: TestClient, db: Database, operator_login: str
) -> None:
    """Those of the kind that nobody has run again before."""
    db.execute(_FAILED, [1000, 9])
    db.execute("SELECT fairlead.retry(1002)")
    path = "/jobs/all/retry?queue=mail&kind=send"

    assert "Run 3 jobs again" in client.get(path, headers=known(OPERATOR)).text
    _, text = done(client, path, begun(client, path))

    assert '<span class="figure">3</span> run again' in text
    assert [("mail", "acme", 4)] == db.execute(_LEFT).fetchall()
    assert ("redrive", "ada", "because", operator_login) in db.execute(_AUDIT).fetchall()
    assert "was not run again" in client.get(path, headers=known(OPERATOR)).text


@pytest.mark.usefixtures("stepwise")
def test_what_fails_again_meanwhile_does_not_run_for_ever(
    client: TestClient, db: Database
) -> None:
    """It ends with those that had failed when it began."""
    db.execute(_FAILED, [1000, 1100])
    path = "/jobs/all/retry?queue=mail"
    fields, made = begun(client, path), Counter[int]()
    while fields:
        db.execute(
            _FAILED.replace("now() - n", "now() + n").encode(), [10**6 * (1 + len(made)), 600]
        )
        page = Page(post(client, path, OPERATOR, SAME, **fields).text)
        made[len(made)] += 1
        fields = page.forms[0].fields if page.forms else {}

    assert 3 == len(made)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/jobs/all/cancel", "Name a queue, a tenant or a kind"),
        ("/jobs/all/retry?tenant=acme", "Name the queue"),
    ],
)
def test_all_jobs_of_everybody_are_nobodys_to_ask_for(
    client: TestClient, path: str, said: str
) -> None:
    """A filter is wanted."""
    mine = token(client, "/queues", OPERATOR)
    asked = client.get(path, headers=known(OPERATOR))
    sent = post(client, path, token=mine, reason="because", through="9")

    assert (400, 400) == (asked.status_code, sent.status_code)
    assert said in asked.text
    assert said in sent.text


@pytest.mark.parametrize(
    "wrong",
    [{"reason": " "}, {"through": "x"}, {"after_id": "-1"}, {"total": ""}, {"ended": "1e9"}],
    ids=str,
)
def test_a_form_that_no_page_shows_is_refused(
    client: TestClient, db: Database, wrong: dict[str, str]
) -> None:
    """In a sentence, and nothing is done."""
    db.execute(_JOBS, ["mail", "acme", 1])
    path = "/jobs/all/cancel?queue=mail"
    fields = {**begun(client, path), **wrong}
    answer = post(client, path, OPERATOR, SAME, **fields)

    assert 400 == answer.status_code
    assert [("mail", "acme", 1)] == db.execute(_LEFT).fetchall()


def test_a_reader_is_not_even_shown_it(client: TestClient) -> None:
    """The list has no such links for them."""
    asked = client.get("/jobs/all/cancel?queue=mail", headers=known(READER))

    assert 403 == asked.status_code
    assert "/jobs/all/" not in client.get("/jobs?queue=mail", headers=known(READER)).text


def test_counting_stops_somewhere(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says that there are more."""
    monkeypatch.setattr(many, "COUNTED_MAX", 1000)
    db.execute(_JOBS, ["mail", "acme", 4000])

    shown = client.get("/jobs/all/cancel?queue=mail", headers=known(OPERATOR)).text

    assert "<dt>scheduled</dt><dd>1,000</dd>" in shown
    assert "<dt>pending</dt><dd>1,000+</dd>" in shown
    assert "Cancel all 2,000+ jobs" in shown
