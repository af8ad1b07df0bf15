"""Whoever may only look changes nothing, by any request, at any address that takes one.

The addresses are the application's own, and the forms are those that an operator's pages show,
so that an action is attacked as soon as there is one.
"""

from itertools import product

import pytest
from starlette.routing import Route
from starlette.testclient import TestClient

from fairlead_console.screens.source import Source
from fairlead_console.settings import ConsoleSettings
from fairlead_console.web.app import Console
from tests.support.consoles import SCREENS
from tests.support.forms import Form, Page, crawled
from tests.support.operators import OPERATOR, READER, SAME, known, post, token
from tests.support.race import Database

_FLEET = (
    """INSERT INTO fairlead.jobs (queue, tenant, kind, run_at)
    SELECT 'mail', 'acme', 'send', CASE WHEN n = 1 THEN now() + interval '1 hour' END
    FROM generate_series(1, 8) n""",
    """INSERT INTO fairlead.job_history (id, created_at, finished_at, attempt, max_attempts,
        crashes, losses, priority, outcome, queue, tenant, kind, payload)
    SELECT 900 + n, now(), now(), 1, 1, 0, 0, 0, 'failed', 'mail', 'acme', 'send', '{}'
    FROM generate_series(0, 7) n""",
    """INSERT INTO fairlead.schedules (name, cron, timezone, queue, tenant, kind)
    VALUES ('nightly', '0 2 * * *', 'UTC', 'mail', 'acme', 'send'),
           ('weekly', '0 2 * * 1', 'UTC', 'mail', 'acme', 'send')""",
    "UPDATE fairlead.schedules SET enabled = false WHERE name = 'weekly'",
    "SELECT fairlead.pause('mail'), fairlead.pause('mail', 'acme')",
)
_TABLES = ("jobs", "job_history", "schedules", "paused", "audit", "policy_versions", "leaders")
_ALL = "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM fairlead.%s t"
_HEADERS: tuple[dict[str, str], ...] = (
    {},
    {**SAME},
    {"Origin": "http://127.0.0.1"},
    {**SAME, "X-Forwarded-User": "ada", "Remote-User": "ada", "X-Remote-User": "ada"},
    {**SAME, "X-Forwarded-Groups": "admins", "X-Forwarded-For": "127.0.0.1"},
    {**SAME, "X-HTTP-Method-Override": "POST"},
)
_WAYS = (
    *(("POST", each) for each in _HEADERS),
    *((method, _HEADERS[1]) for method in ("PUT", "PATCH", "DELETE")),
)
_PEOPLE = (READER, None, ("ada", "x"))


def acts() -> list[Route]:
    """Return every address of the application that takes what may change something."""
    settings = ConsoleSettings(database_url="postgresql://nowhere")
    routes = Console(settings, Source.of(settings)).routes()
    return [
        each
        for each in routes
        if isinstance(each, Route) and (each.methods or set()) - {"GET", "HEAD"}
    ]


def is_at(route: Route, action: str) -> bool:
    """Tell whether a form's request comes to a route."""
    path = action.partition("?")[0]
    return route.path_regex.fullmatch(path) is not None


def stored(db: Database) -> list[object]:
    """Return all that an action could change."""
    return [db.execute((_ALL % name).encode()).fetchone() for name in _TABLES]


@pytest.fixture
def operator_roles() -> tuple[str, ...]:
    """Return what a login has to be to store policies, too."""
    return ("fairlead_operator", "fairlead_admin")


def edited(client: TestClient, form: Form) -> Form:
    """Return the form that applies a policy, which an operator comes to by simulating one."""
    fields = {**form.fields, "document": "queues: [{match: {queue: mail}}]"}
    for step in ("check", "simulate"):
        answer = post(client, form.action, OPERATOR, SAME, **{**fields, "step": step})
        (form,) = Page(answer.text).forms
        fields = form.fields
    assert "apply" == form.fields["step"]
    return form


@pytest.fixture
def forms(client: TestClient, db: Database) -> dict[str, Form]:
    """Return the forms that an operator finds in a fleet with something of everything."""
    for statement in _FLEET:
        db.execute(statement.encode())
    row = db.execute("SELECT max(id) FROM fairlead.jobs").fetchone()
    assert row is not None
    start = (f"/jobs/{row[0]}", *SCREENS, "/jobs?queue=mail", "/jobs?state=failed&queue=mail")
    found = crawled(client, start, known(OPERATOR))
    return found | {"/policy/edit": edited(client, found["/policy/edit"])}


def test_an_operator_finds_a_form_for_each_action(forms: dict[str, Form]) -> None:
    """So that the attack below sends what would be done, were it sent by somebody who may."""
    found = acts()

    assert len(found) >= 6
    assert [] == [
        route.path for route in found if not any(is_at(route, each) for each in forms)
    ]
    assert [] == [each for each in forms if not any(is_at(route, each) for route in found)]


def test_a_reader_who_forges_requests_succeeds_never(
    client: TestClient, db: Database, forms: dict[str, Form]
) -> None:
    """With an operator's token and fields, any header and any way to ask; and sees no form."""
    before = stored(db)
    with client:
        answers = [
            client.request(
                method, path, data=form.fields, headers={**headers, **known(who)}
            ).status_code
            for (path, form), (method, headers), who in product(forms.items(), _WAYS, _PEOPLE)
        ]
        asked = [
            client.get(path, params=form.fields, auth=READER) for path, form in forms.items()
        ]

    assert len(answers) >= len(acts()) * len(_WAYS) * len(_PEOPLE)
    assert {401, 403, 404, 405} >= {*answers, *(each.status_code for each in asked)}
    assert before == stored(db)
    assert {} == crawled(client, SCREENS, known(READER))


def test_each_of_these_requests_is_done_for_an_operator(
    client: TestClient, db: Database, forms: dict[str, Form]
) -> None:
    """What is refused above would have succeeded: it is the person that it is refused for."""
    mine = token(client, "/queues", OPERATOR)
    changed: list[str] = []
    for path, form in sorted(forms.items(), key=lambda item: "/all/" in item[0]):
        before = stored(db)
        fields: dict[str, str] = {**form.fields, "token": mine}
        answer = post(client, path, OPERATOR, SAME, **fields)
        assert answer.status_code in (200, 303), path
        changed += [path] if before != stored(db) else []

    assert [] == [
        route.path for route in acts() if not any(is_at(route, each) for each in changed)
    ]
