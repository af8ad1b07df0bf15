"""Django's tasks over Fairlead: enqueued in Django's transaction, asked for, refused."""

import subprocess
import sys
from datetime import UTC, datetime

import django
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import django_sites
from tests.support.logins import as_login, login

pytestmark = pytest.mark.any_server

_JOBS = """
SELECT id, kind, queue, tenant, priority, run_at, payload FROM fairlead.jobs ORDER BY id
"""
_END = "SELECT fairlead._end_jobs(%s, ARRAY[%s], ARRAY[%s])"
_FULL = """
INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)
VALUES ('default', '', 1, 0);
SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/'));
"""
_SHOP = "tests.support.django_site.shop.tasks"
_WITHOUT = """
import sys
sys.modules["{missing}"] = None
import fairlead
assert not [each for each in sys.modules if each.startswith("django.")]
try:
    import fairlead.django{module}
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""


def test_a_task_is_a_job_of_djangos_transaction(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Its kind is the function's path; queue, priority and run_after are the task's."""
    first, second, third = django_sites.run(database_url, "enqueue")

    noon = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
    later = f"{_SHOP}.write_later"
    assert [
        ("write", "default", "", 0, None, {"args": ["a"], "kwargs": {"times": 2}}),
        ("write_later", "mail", "acme", 5, noon, {"args": ["b"], "kwargs": {}}),
        ("write_later", "default", "later", -100, None, {"args": ["c"], "kwargs": {}}),
    ] == [(row[1].removeprefix(f"{_SHOP}."), *row[2:]) for row in db.execute(_JOBS).fetchall()]
    assert 1 == len(db.execute("SELECT FROM fairlead.jobs WHERE run_at > now()").fetchall())
    assert [later] == [
        row[1] for row in db.execute(_JOBS).fetchall() if str(row[0]) == third["id"]
    ]
    assert ("READY", 0, False, [True, False, False, False]) == (
        first["status"],
        first["attempts"],
        first["finished"],
        first["times"],
    )
    assert noon == datetime.fromisoformat(second["run_after"])


def test_without_time_zones_instants_are_those_of_django(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """An instant without a zone is in that of the settings, here Berlin's, both ways."""
    _, second, _ = django_sites.run(database_url, "enqueue", USE_TZ=False)

    (row,) = db.execute(
        "SELECT run_at FROM fairlead.jobs WHERE id = %s", [int(second["id"])]
    ).fetchall()
    assert (datetime(2030, 5, 1, 10, 0, tzinfo=UTC),) == row
    (found,) = django_sites.run(database_url, "results", second["id"], USE_TZ=False)
    assert "2030-05-01T12:00:00" == found["run_after"]


def test_a_result_says_how_the_job_is(database_url: str, db: Connection[TupleRow]) -> None:
    """Each state is one of Django's, and what the job has is what the result has."""
    write, later, _ = (each["id"] for each in django_sites.run(database_url, "enqueue"))
    failed, cancelled, expired, succeeded = (
        int(row[0])
        for row in db.execute(
            'INSERT INTO fairlead.jobs (kind, payload) SELECT %s, \'{"args": ["x"]}\''
            " FROM generate_series(1, 4) RETURNING id",
            [f"{_SHOP}.write"],
        ).fetchall()
    )
    db.execute(_END, [[failed], "failed", "ValueError: boom\n  /app/x.py:1 in x"])
    db.execute(_END, [[expired], "expired", "it expired while it waited to run"])
    db.execute(_END, [[succeeded], "succeeded", None])
    db.execute("SELECT fairlead.cancel(%s)", [cancelled])
    ids = [write, later, *map(str, (failed, cancelled, expired, succeeded))]

    found = django_sites.run(database_url, "results", *ids)

    assert ["READY", "READY", "FAILED", "FAILED", "FAILED", "SUCCESSFUL"] == [
        each["status"] for each in found
    ]
    assert ids == [each["id"] for each in found]
    assert ("write_later", "mail", 5, ["b"], {}) == tuple(
        found[1][name] for name in ("name", "queue", "priority", "args", "kwargs")
    )
    assert [["builtins.ValueError", "ValueError: boom\n  /app/x.py:1 in x"]] == found[2][
        "errors"
    ]
    assert ["fairlead.errors.Cancelled"] * 2 == [each["errors"][0][0] for each in found[3:5]]
    assert [True] * 4 == [each["times"][-1] for each in found[2:]]
    assert [] == found[5]["errors"]


def test_what_is_no_task_of_this_backend_does_not_exist(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """Another kind, another queue, another payload, no number; and nothing is imported."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, queue, payload) VALUES"
        " ('os.getcwd', 'default', '{}'), (%(write)s, 'other', '{}'),"
        " (%(write)s, 'default', '[1]') RETURNING id",
        {"write": f"{_SHOP}.write"},
    ).fetchall()

    found = django_sites.run(
        database_url, "results", *(str(row[0]) for row in rows), "999", "x", "9" * 30
    )

    assert {"TaskResultDoesNotExist"} == {name for name, _ in found}
    said = [sentence.partition(" ")[2].partition(" ")[2] for _, sentence in found]
    assert "is no task of Django's." == said[0]
    assert "is none of backend 'default': Queue 'other' is not valid for backend." == said[1]
    assert said[2].startswith("is none of backend 'default': the payload of a task")
    assert ["is none that this login may see."] * 3 == said[3:]


def test_a_login_gets_the_results_of_its_own_tasks(database_url: str) -> None:
    """An application's login needs `app` alone; others' jobs do not exist for it."""
    with login(database_url, "fairlead_enqueue") as name:
        url = as_login(database_url, name)
        mine = [each["id"] for each in django_sites.run(url, "enqueue")]
        theirs = [each["id"] for each in django_sites.run(database_url, "enqueue")]

        found = django_sites.run(url, "results", mine[0], theirs[0])

    assert "READY" == found[0]["status"]
    assert [
        "TaskResultDoesNotExist",
        f"Job {theirs[0]} is none that this login may see.",
    ] == found[1]


def test_options_name_a_function_that_says_whose_a_task_is(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It decides, whatever block the call is in; what is no text is an error."""
    options = {"tenant": f"{_SHOP}.tenant_of"}
    django_sites.run(database_url, "tenants", OPTIONS=options)

    assert [("of acme",)] == db.execute("SELECT tenant FROM fairlead.jobs").fetchall()
    (said,) = django_sites.run(
        database_url, "mistaken_tenant", OPTIONS={"tenant": f"{_SHOP}.no_tenant"}
    )
    assert (
        "TypeError: OPTIONS['tenant'] of TASKS['default'] returned a NoneType for a tenant: "
        "return a str" == said
    )


def test_what_cannot_be_a_job_is_refused_with_a_sentence(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """And nothing is inserted."""
    priority, queue, argument, surrogate, option, long_queue, above = django_sites.run(
        database_url, "refused"
    )

    assert "priority must be a whole number between -100 and 100." in priority
    assert "Queue 'other' is not valid for backend." in queue
    assert argument.startswith("TypeError: Unsupported type")
    assert surrogate.startswith("ValueError: ")
    assert (
        "ImproperlyConfigured: OPTIONS of TASKS['other'] has tennant: Fairlead's backend knows "
        "tenant alone" == option
    )
    assert "The queue of a task must be 1 to 128 bytes, and 'qqq" in long_queue
    assert "TypeError: handler_settings decorates a function, and not a Task: put it " in above
    assert [] == db.execute(_JOBS).fetchall()


def test_a_full_backlog_is_refused_and_a_savepoint_keeps_the_rest(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """As `fairlead.enqueue` says it."""
    db.execute(_FULL)

    refusal, kept = django_sites.run(database_url, "full")

    assert "default" in refusal
    assert [int(kept)] == [row[0] for row in db.execute(_JOBS).fetchall()]


def test_djangos_checks_name_what_is_wrong_with_the_settings(database_url: str) -> None:
    """A database that is not PostgreSQL, and a function that is not there."""
    assert [] == django_sites.run(database_url, "checks")

    found = django_sites.run(
        database_url,
        "checks",
        ENGINE="django.db.backends.sqlite3",
        NAME=":memory:",  # or Django makes a file of the database's name
        OPTIONS={"tenant": "nowhere.at_all"},
    )

    assert ["fairlead.E001", "fairlead.E002"] == [each for each, _ in found]
    assert "'default' is not PostgreSQL" in found[0][1]


@pytest.mark.parametrize(
    ("missing", "module", "sentence"),
    [
        ("django", "", "ImportError: fairlead.django needs Django, which is not installed"),
        (
            "django_tasks",
            ".framework",
            "" if django.VERSION >= (6, 0) else "ImproperlyConfigured: Django 5.",
        ),
        ("none", "", ""),
    ],
)
def test_fairlead_imports_no_django_and_says_what_is_missing(
    missing: str, module: str, sentence: str
) -> None:
    """One sentence, and none when it is there."""
    program = _WITHOUT.format(missing=missing, module=module)
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert done.stdout.startswith(sentence)
    assert bool(sentence) == bool(done.stdout)
