"""Every role tries everything that is not its to do, on every object and on the server."""

from random import Random

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.attacks import ROLES, attacker, attempts, calls, relations, state
from tests.support.logins import LogIn

_CANARY = "payload of the victim"
# A privilege that is missing, or an object of a kind with which nobody could do it.
_REFUSALS = ("42501", "42809")


@pytest.fixture
def db(db: Connection[TupleRow]) -> Connection[TupleRow]:
    """Return the superuser's connection to a database that holds a victim's job."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind, payload)"
        " VALUES ('victim', 'victim', 'k', to_jsonb(%s::text))",
        (_CANARY,),
    )
    return db


@pytest.mark.parametrize("role", [*ROLES, None])
def test_nobody_changes_an_object_or_the_server(
    db: Connection[TupleRow], log_in: LogIn, role: str | None
) -> None:
    """No login alters, takes over, locks out or undermines what belongs to the owner."""
    by = attacker(db, log_in(*([role] if role else [])))
    before = state(db)

    answers = [(by.refused(attempt), attempt) for attempt in attempts(db, by)]
    by.grant()

    assert [] == [attempt for answer, attempt in answers if answer not in _REFUSALS]
    assert before == state(db)
    assert len(answers) > 1000


@pytest.mark.parametrize("role", [*ROLES, None])
def test_no_function_does_more_than_it_should_whatever_it_is_given(
    db: Connection[TupleRow], log_in: LogIn, role: str | None
) -> None:
    """A call that is not granted is refused, and one that is changes no right and no code."""
    by = attacker(db, log_in(*([role] if role else [])))
    before = state(db)

    for may, call in calls(db, by, Random(18), each=20):
        refused, answer = by.answer(call)
        assert may or refused == "42501", call
        assert role == "fairlead_admin" or _CANARY not in answer, call

    assert before == state(db)


@pytest.mark.parametrize(
    "role", ["fairlead_enqueue", "fairlead_worker", "fairlead_autoscaler", None]
)
def test_who_needs_no_payloads_reads_none(
    db: Connection[TupleRow], log_in: LogIn, role: str | None
) -> None:
    """No table and no view shows what another login has enqueued."""
    by = attacker(db, log_in(*([role] if role else [])))

    for name, _ in relations(db):
        assert _CANARY not in by.answer(f"SELECT r::text FROM {name} r")[1], name
        for column in _columns(db, name):
            assert _CANARY not in by.answer(f"SELECT {column}::text FROM {name}")[1], name


def _columns(db: Connection[TupleRow], name: str) -> list[str]:
    rows = db.execute(
        "SELECT quote_ident(attname) FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
        (name,),
    ).fetchall()
    return [str(row[0]) for row in rows]
