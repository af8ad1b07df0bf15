"""The pages of Django's admin: lists that count nothing, cancel and retry, refusals."""

import html
import re
from collections.abc import Iterator

import pytest
from psycopg import Connection, sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support import django_sites
from tests.support.databases import cloned_database
from tests.support.logins import as_login, login

pytestmark = pytest.mark.any_server

_STATES = "SELECT id, state FROM fairlead.job_status ORDER BY id"
_ACTOR = "SELECT actor, verb FROM fairlead.audit WHERE actor = 'boss' ORDER BY id"
_REPORT = """
INSERT INTO fairlead.fairness_reports (pool, epoch, since, at, report)
VALUES ('default', 1, now() - interval '1 minute', now(), %s::jsonb)
"""


@pytest.fixture(scope="module")
def template(server: Server) -> Iterator[str]:
    """Yield the name of a database with the project's tables and users."""
    with cloned_database(server) as url:
        django_sites.run(url, "migrate")
        yield str(conninfo_to_dict(url)["dbname"])


@pytest.fixture
def database_url(
    server: Server, databases: Connection[TupleRow], template: str
) -> Iterator[str]:
    """Yield the URL of a clone of it, which belongs to this test alone."""
    with cloned_database(server, over=databases, template=template) as url:
        yield url


def insert(db: Connection[TupleRow], count: int = 1, **fields: str) -> list[int]:
    """Insert jobs."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, tenant, queue, payload)"
        " SELECT %s, %s, %s, %s::jsonb FROM generate_series(1, %s) RETURNING id",
        [
            fields.get("kind", "k"),
            fields.get("tenant", "acme"),
            fields.get("queue", "default"),
            fields.get("payload", "{}"),
            count,
        ],
    ).fetchall()
    return [int(row[0]) for row in rows]


def listed(page: str) -> list[int]:
    """Return the ids of the jobs in a list."""
    return [int(each) for each in re.findall(r"/admin/fairlead/job/(\d+)/change", page)]


def test_jobs_are_listed_filtered_and_found(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """The newest first, by state, queue, tenant and kind; by id or tenant in the search."""
    first, second = insert(db, 2)
    (mail,) = insert(db, queue="mail", kind="send")
    (other,) = insert(db, tenant="other")
    db.execute("SELECT fairlead.cancel(%s)", [second])

    answers = django_sites.run(
        database_url,
        "admin",
        "boss",
        "GET fairlead/job/",
        "GET fairlead/job/ state=cancelled",
        "GET fairlead/job/ queue=mail",
        "GET fairlead/job/ kind=send",
        "GET fairlead/job/ tenant=other",
        "GET fairlead/job/ q=other",
        f"GET fairlead/job/ q={first}",
        "GET fairlead/job/ q=999",
        "GET fairlead/job/ tenant=other queue=mail",
    )

    assert {200} == {status for status, _, _ in answers}
    assert [
        [other, mail, second, first],
        [second],
        [mail],
        [mail],
        [other],
        [other],
        [first],
        [],
        [],
    ] == [listed(page) for _, page, _ in answers]
    assert 'name="tenant" value="other"' in answers[4][1]


def test_a_list_is_one_statement_and_counts_nothing(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Pages are cut from the newest thousand, and any page is one statement on Fairlead's."""
    jobs = insert(db, 120)

    answers = django_sites.run(
        database_url, "admin", "boss", "GET fairlead/job/", "GET fairlead/job/ p=3"
    )
    said = django_sites.run(database_url, "queries", "fairlead/job/?p=2")

    assert [jobs[:-51:-1], jobs[19::-1]] == [listed(page) for _, page, _ in answers]
    assert "120 jobs" in answers[0][1]
    asked = [each for each in said if "fairlead" in each.split("FROM", 1)[-1]]
    assert 1 == len([each for each in asked if "list_jobs" in each]), asked
    assert [] == [each for each in asked if "count(" in each.lower() or "job_status" in each]


def test_what_reads_all_models_reads_none_of_these(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """A backlog is not in a dump of Django's tables, and the dump does not read it."""
    insert(db)

    assert "auth.user" in django_sites.run(database_url, "dumped")
    assert [] == [
        each for each in django_sites.run(database_url, "dumped") if "fairlead" in each
    ]


def test_a_job_is_text_and_nothing_can_be_written(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """A payload that is HTML is shown as it is; there is no form, and a POST is refused."""
    (job,) = insert(db, payload='{"a": "<script>alert(1)</script>"}')

    shown, posted, added, deleted, absent = django_sites.run(
        database_url,
        "admin",
        "boss",
        f"GET fairlead/job/{job}/change/",
        f"POST fairlead/job/{job}/change/ state=succeeded",
        "GET fairlead/job/add/",
        f"POST fairlead/job/{job}/delete/ post=yes",
        "GET fairlead/job/999/change/",
    )

    assert 200 == shown[0]
    assert "<script>alert" not in shown[1]
    assert '"a": "<script>alert(1)</script>"' in html.unescape(shown[1])
    assert [] == re.findall(r'<(?:input|textarea|select)[^>]+name="(?!csrf|next)', shown[1])
    assert [403, 403, 403] == [posted[0], added[0], deleted[0]]
    assert 200 == absent[0]
    assert [(job, "pending")] == db.execute(_STATES).fetchall()


def test_jobs_are_cancelled_and_run_again(database_url: str, db: Connection[TupleRow]) -> None:
    """By the functions; the audit log has who it was, and a message says what became of it."""
    first, second, third = insert(db, 3)
    db.execute("SELECT fairlead.cancel(%s)", [second])
    ticked = f"_selected_action={first} _selected_action={second}"

    cancelled, again, everything = django_sites.run(
        database_url,
        "admin",
        "boss",
        f"POST fairlead/job/ action=cancel_jobs {ticked}",
        f"POST fairlead/job/ action=retry_jobs {ticked}",
        f"POST fairlead/job/ action=cancel_jobs select_across=1 _selected_action={first}",
    )

    assert ["Jobs: 1 cancelled, 1 had ended before."] == cancelled[2]
    new = [row[0] for row in db.execute(_STATES).fetchall() if row[0] > third]
    assert [f"Jobs run again: {new[0]}, {new[1]}."] == again[2]
    assert ["Jobs: 2 had ended before, 3 cancelled."] == everything[2]
    assert {("boss", "cancel"), ("boss", "retry")} == {*db.execute(_ACTOR).fetchall()}


def test_what_cannot_run_again_is_a_message_and_the_others_do(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Here the payload was not kept."""
    gone, kept = insert(db, 2)
    db.execute("SELECT fairlead.cancel(id) FROM fairlead.jobs")
    db.execute("SELECT fairlead.redact(%s)", [gone])
    ticked = f"_selected_action={gone} _selected_action={kept}"

    (answer,) = django_sites.run(
        database_url, "admin", "boss", f"POST fairlead/job/ action=retry_jobs {ticked}"
    )

    assert f"Job {gone}: " in answer[2][0]
    assert "its payload was not kept." in answer[2][0]
    assert answer[2][1].startswith("Jobs run again: ")


def test_django_permissions_decide_who_sees_and_who_acts(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """A viewer has no actions, and who has no permission is refused by Django."""
    (job,) = insert(db)
    ask = (
        "GET fairlead/job/",
        f"POST fairlead/job/ action=cancel_jobs _selected_action={job}",
        "GET fairlead/schedule/",
    )

    viewer = django_sites.run(database_url, "admin", "viewer", *ask)
    nobody = django_sites.run(database_url, "admin", "nobody", *ask)

    assert [200, 200, 403] == [status for status, _, _ in viewer]
    assert "cancel_jobs" not in viewer[0][1]
    assert [403, 403, 403] == [status for status, _, _ in nobody]
    assert [(job, "pending")] == db.execute(_STATES).fetchall()


def test_what_nobody_can_ask_for_is_no_error_of_the_site(database_url: str) -> None:
    """A text that PostgreSQL has not, an id that is too large, a key that is no pair."""
    answers = django_sites.run(
        database_url,
        "admin",
        "boss",
        "GET fairlead/job/?tenant=%00",
        "GET fairlead/tenant/?pool=%00",
        "GET fairlead/schedule/7/change/",
        "GET fairlead/schedule/%5B%22a%5Cu0000%22%2C%22b%22%5D/change/",
        f"POST fairlead/job/ action=cancel_jobs _selected_action={2**63}",
        f"POST fairlead/job/ action=retry_jobs _selected_action={2**63}",
    )

    assert [200, 200, 200, 200, 403, 403] == [status for status, _, _ in answers]


def test_what_the_database_refuses_is_a_message(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Each page and each action of a login without the right."""
    (job,) = insert(db)
    ask = (
        "GET fairlead/job/",
        f"GET fairlead/job/{job}/change/",
        f"GET fairlead/job/{job}/history/",
        f"POST fairlead/job/ action=cancel_jobs _selected_action={job}",
        "GET fairlead/schedule/",
        "GET fairlead/tenant/",
    )
    with login(database_url) as name:
        for grant in ("SELECT, INSERT, UPDATE, DELETE ON ALL TABLES", "USAGE ON ALL SEQUENCES"):
            db.execute(
                sql.SQL("GRANT {} IN SCHEMA public TO {}").format(
                    sql.SQL(grant), sql.Identifier(name)
                )
            )
        refused = django_sites.run(as_login(database_url, name), "admin", "boss", *ask)
        db.execute(sql.SQL("GRANT fairlead_reader TO {}").format(sql.Identifier(name)))
        reader = django_sites.run(as_login(database_url, name), "admin", "boss", *ask)

    assert {200} == {status for status, _, _ in refused + reader}
    assert {1} == {len(said) for _, _, said in refused}
    assert {"The database refuses"} == {said[0].partition(":")[0] for _, _, said in refused}
    assert [0, 0, 0, 1, 0, 0] == [len(said) for _, _, said in reader]
    assert "permission denied for function cancel" in reader[3][2][0]
    assert [(job, "pending")] == db.execute(_STATES).fetchall()


def test_schedules_and_tenants_are_shown(database_url: str, db: Connection[TupleRow]) -> None:
    """Schedules of a name for two tenants are two; tenants are those of the leader's report."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind, tenant, enabled, payload) VALUES"
        " ('night/ly', '0 2 * * *', 'report', 'acme', true, '{\"a\": \"<b>\"}'),"
        " ('night/ly', '0 3 * * *', 'report', 'other', false, '{}')"
    )
    db.execute(
        _REPORT,
        ['{"tenants": [{"queue": null, "tenant": "acme", "share": 0.25, "weight": 1}]}'],
    )

    every, of_one, disabled, tenants, none = django_sites.run(
        database_url,
        "admin",
        "boss",
        "GET fairlead/schedule/",
        "GET fairlead/schedule/ q=acme",
        "GET fairlead/schedule/ enabled=false",
        "GET fairlead/tenant/",
        "GET fairlead/tenant/ q=other",
    )
    links = re.findall(r'href="(/admin/fairlead/schedule/[^"?]+/change/)', every[1])
    pages = django_sites.run(
        database_url, "admin", "boss", *(f"GET {html.unescape(each)[7:]}" for each in links)
    )

    assert ["2 schedules", "1 schedule", "1 schedule"] == [
        found[1] if (found := re.search(r"(\d schedules?)\n", page)) else ""
        for _, page, _ in (every, of_one, disabled)
    ]
    assert ["0 2 * * *", "0 3 * * *"] == [
        found[0] if (found := re.search(r"0 \d \* \* \*", page)) else "" for _, page, _ in pages
    ]
    assert "&quot;&lt;b&gt;&quot;" in pages[0][1]
    assert "25.0% of 0.0%" in tenants[1]
    assert "0 tenants" in none[1]


def test_a_project_without_fairleads_schema_is_told_so(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Django's own tables are there, and the schema is not."""
    db.execute("DROP SCHEMA fairlead CASCADE")

    (answer,) = django_sites.run(database_url, "admin", "boss", "GET fairlead/job/")

    assert 200 == answer[0]
    assert answer[2][0].startswith("Run `fairlead migrate` on this database: ")
