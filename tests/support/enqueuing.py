"""SQL's `enqueue`, as tests call it."""

from typing import NamedTuple

from psycopg import sql

from tests.support.race import Database


class Enqueued(NamedTuple):
    """What it answers."""

    id: int | None
    became: str


def enqueue(db: Database, **given: object) -> Enqueued:
    """Enqueue a job of kind noop with the dedup key `key`, unless something else is given."""
    named = {"kind": "noop", "dedup_key": "key", **given}
    arguments = sql.SQL(", ").join(
        sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
        for name in named
    )
    call = sql.SQL("SELECT id, became FROM fairlead.enqueue({})").format(arguments)
    (row,) = db.execute(call, named).fetchall()
    return Enqueued(*row)


def replace(db: Database, payload: str = "1", **given: object) -> int:
    """Replace the job that waits, and return the id of the one that waits now."""
    found = enqueue(db, replace=True, payload=payload, **given)
    assert "replaced" == found.became
    assert found.id is not None
    return found.id
