"""Every role tries everything that is not its to do, on every object and on the server."""

from collections.abc import Callable, Mapping
from functools import partial
from random import Random

import pytest
from psycopg import Connection, Error
from psycopg.rows import TupleRow

from tests.support import race
from tests.support.attacks import (
    ROLES,
    Attacker,
    attacker,
    attempts,
    calls,
    relations,
    shaped_calls,
    state,
)
from tests.support.logins import LogIn
from tests.support.victims import CANARY, MAY_HOLD, Victims
from tests.support.worker_logins import queue, register

Record = Callable[[str, object], None]

# A privilege that is missing, or an object of a kind with which nobody could do it.
_REFUSALS = ("42501", "42809")

_ROW_CHARACTERS_MAX = 1_200_000  # a result of 1 MiB, and what is beside it

_READ_ALL = ("fairlead_admin", "fairlead_operator", "fairlead_reader", "fairlead_viewer")
_UNTRUSTED = (
    *("fairlead_enqueue", "fairlead_reader", "fairlead_viewer", "fairlead_worker"),
    "fairlead_autoscaler",
)
_MAY_CHANGE: Mapping[str | None, set[str]] = {
    "fairlead_autoscaler": {"leaders"},
    "fairlead_worker": {"pod_drains", "floor_scans"},
}
"""Tables whose rows are its own to change, beside those that it adds."""


@pytest.fixture(autouse=True)
def victims(db: Connection[TupleRow]) -> Victims:
    """Return what belongs to others, with a canary wherever a payload or an error may be."""
    return Victims(db)


@pytest.mark.parametrize("role", [*ROLES, None])
def test_nobody_changes_an_object_or_the_server(
    db: Connection[TupleRow], log_in: LogIn, role: str | None, record_property: Record
) -> None:
    """No login alters, takes over, locks out or undermines what belongs to the owner."""
    by = attacker(db, log_in(*([role] if role else [])))
    before = state(db)

    answers = [(by.refused(attempt), attempt) for attempt in attempts(db, by)]
    by.grant()

    succeeded = [attempt for answer, attempt in answers if answer not in _REFUSALS]
    record_property("attempts", len(answers))
    record_property("attempts that succeeded", len(succeeded))
    assert [] == succeeded
    assert before == state(db)
    assert len(answers) > 1000


@pytest.mark.parametrize("role", [*ROLES, None])
def test_no_function_does_more_than_it_should_whatever_it_is_given(
    db: Connection[TupleRow],
    log_in: LogIn,
    role: str | None,
    victims: Victims,
    record_property: Record,
) -> None:
    """A call that is not granted is refused, and one that is changes no right and no code."""
    by = attacker(db, log_in(*([role] if role else [])))
    before = state(db)

    tried = list(calls(db, by, Random(18), each=20, ids=victims.ids, texts=victims.texts))
    record_property("calls that are granted", sum(may for may, _ in tried))
    record_property("calls that are not granted", sum(not may for may, _ in tried))
    for may, call in tried:
        refused, answer = by.answer(call)
        assert may or refused == "42501", call
        assert role in _READ_ALL or CANARY not in answer, call

    assert before == state(db)


@pytest.mark.parametrize("role", [*_UNTRUSTED, None])
def test_no_function_changes_or_holds_what_is_others(
    db: Connection[TupleRow], log_in: LogIn, role: str | None, victims: Victims
) -> None:
    """Whatever it is given: what it did is committed, and looked at before it is."""
    by = attacker(db, log_in(*([role] if role else [])))
    before = victims.rows()
    held: dict[str, str] = {}

    tried = calls(db, by, Random(19), each=20, ids=victims.ids, texts=victims.texts)
    for may, call in tried:
        if may:
            look = partial(_note, held, call, by, victims)
            by.answer(call, keep=True, look=look)

    assert {} == {
        k: call for k, call in held.items() if not k.startswith(MAY_HOLD.get(role, ()))
    }
    changed = before - victims.rows()
    assert set() == {row for row in changed if row[0] not in _MAY_CHANGE.get(role, set())}


@pytest.mark.parametrize("role", [*_UNTRUSTED, None])
def test_what_a_function_stores_is_read_and_is_bounded_whatever_its_shape(
    db: Connection[TupleRow],
    log_in: LogIn,
    role: str | None,
    victims: Victims,
    record_property: Record,
) -> None:
    """Arrays of two dimensions and that begin elsewhere, and values that are compressed."""
    session = log_in(*([role] if role else []))
    by = attacker(db, session)
    own = victims.ids
    if role == "fairlead_worker":
        queue(db)
        me = register(session)
        lease = race.claim_one(session, me)
        own = (me, lease.job, lease.token)

    tried = list(shaped_calls(db, by, own))
    record_property("calls with arguments of odd shapes", len(tried))
    for call in tried:
        by.answer(call, keep=True, look=partial(_read, call, victims))

    longest = max(victims.rows(), key=lambda row: len(row[1]))
    assert len(longest[1]) < _ROW_CHARACTERS_MAX, longest[0]


def _read(call: str, victims: Victims) -> None:
    try:
        victims.read_views()
    except Error as error:
        pytest.fail(f"{error}: others cannot read after {call}")


def _note(held: dict[str, str], call: str, by: Attacker, victims: Victims) -> None:
    """Note what a call keeps from others while its transaction is open."""
    held.update(dict.fromkeys(victims.held(by.connection), call))


@pytest.mark.parametrize(
    "role", ["fairlead_enqueue", "fairlead_worker", "fairlead_autoscaler", None]
)
def test_who_needs_no_payloads_reads_none(
    db: Connection[TupleRow], log_in: LogIn, role: str | None
) -> None:
    """No table and no view shows what another login has enqueued."""
    by = attacker(db, log_in(*([role] if role else [])))

    for name, _ in relations(db):
        assert CANARY not in by.answer(f"SELECT r::text FROM {name} r")[1], name
        for column in _columns(db, name):
            assert CANARY not in by.answer(f"SELECT {column}::text FROM {name}")[1], name


def _columns(db: Connection[TupleRow], name: str) -> list[str]:
    rows = db.execute(
        "SELECT quote_ident(attname) FROM pg_attribute"
        " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
        (name,),
    ).fetchall()
    return [str(row[0]) for row in rows]
