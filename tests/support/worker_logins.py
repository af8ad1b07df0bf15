"""Workers of logins of their own, which register and renew as Fairlead's program does."""

from collections.abc import Mapping

from tests.support import race
from tests.support.race import Database, rows

_SECRET = '{"secret": "of another tenant"}'
_REGISTRATION = {
    "lease_seconds": 3600,
    "slots": 4,
    "slots_full": 4,
    "name": "worker",
    "host": "",
    "pod_uid": None,
    "pod_name": None,
    "version": "",
    "releases_slots": True,
}


def register(session: Database, pool: str = "default", slots: int = 4) -> int:
    """Register a worker as Fairlead's own program does; return its id."""
    values = registration(pool=pool, slots=slots)
    (row,) = rows(session, "fairlead_worker.parent", "register", values)
    return int(next(iter(row.values())))


def registration(**said: object) -> Mapping[str, object]:
    """Return the parameters of a registration."""
    return {**_REGISTRATION, "pool": "default", **said}


def queue(db: Database, *, payload: str = _SECRET) -> int:
    """Insert a job and dispatch it in the pool default."""
    job = race.insert_one(db)
    db.execute("UPDATE fairlead.jobs SET payload = %s WHERE id = %s", [payload, job])
    assert (job,) == race.dispatch(db, [job], epoch=race.leading(db))
    return job


def renewal(worker: int, **said: object) -> Mapping[str, object]:
    """Return the parameters of a renewal."""
    return {
        "worker": worker,
        "lease_seconds": 3600,
        "slots": 4,
        "beside": 0,
        "crash_breakers": None,
        "evictable_kinds": None,
        "ids": "{}",
        "tokens": "{}",
        **said,
    }
