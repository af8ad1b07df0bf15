"""Marks on pods, as the autoscaler writes them, and what the pods' workers answer."""

from datetime import datetime

from fairlead.db.statements import load
from tests.support.race import Database, rows

POD = "2f1c9f5e-0000-4000-8000-000000000001"
_MARK = """
    INSERT INTO fairlead.pod_drains (pod_uid, pool, epoch, drain_until)
    VALUES (%s, 'default', 0, now() + %s::interval)
    ON CONFLICT (pod_uid) DO UPDATE SET drain_until = excluded.drain_until
"""


def mark(db: Database, pod: str = POD, *, holds: str = "1 minute", call: bool = True) -> None:
    """Mark a pod, or prolong its mark, and call its worker unless it is to find out itself."""
    db.execute(_MARK, [pod, holds])
    if call:
        db.execute("SELECT pg_notify('fairlead_cancel', %s)", [pod])


def lift(db: Database, pod: str = POD) -> None:
    """Take a pod's mark away, and call its worker."""
    db.execute("DELETE FROM fairlead.pod_drains WHERE pod_uid = %s", [pod])
    db.execute("SELECT pg_notify('fairlead_cancel', %s)", [pod])


def drained_at(db: Database, pod: str = POD) -> datetime | None:
    """Return since when a pod is empty under its mark."""
    row = db.execute(
        "SELECT drained_at FROM fairlead.pod_drains WHERE pod_uid = %s", [pod]
    ).fetchone()
    return None if row is None else row[0]


def register(db: Database, pod: str = POD, *, slots: int = 10) -> int:
    """Register a pod's worker as it does itself, for an hour; return its id."""
    (row,) = rows(db, "fairlead_worker.parent", "register", registration(pod, slots=slots))
    return int(row["worker"])


def registration(pod: str = POD, *, slots: int = 10) -> dict[str, object]:
    """Return what a pod's worker says of itself when it registers."""
    return {
        "lease_seconds": 3600,
        "slots": slots,
        "slots_full": slots,
        "name": f"worker of {pod}",
        "pool": "default",
        "host": "",
        "pod_uid": pod,
        "pod_name": pod,
        "version": "",
        "releases_slots": True,
    }


def renew(db: Database, worker: int) -> tuple[bool, bool, bool]:
    """Renew a worker's lease; return whether it is draining, marked and drained."""
    held: dict[str, object] = {"ids": "{}", "tokens": "{}"}
    reported = {"slots": 10, "beside": 0, "crash_breakers": None, "evictable_kinds": None}
    values = {"worker": worker, "lease_seconds": 3600, **reported, **held}
    (row,) = rows(db, "fairlead_worker.parent", "renew", values)
    return row["draining"], row["marked"], row["drained"]


def say_drained(db: Database, worker: int) -> bool:
    """Have it written that a worker is empty, if it is; return whether it is."""
    return bool(rows(db, "fairlead_worker.parent", "drained", {"worker": worker}))


def undrain(db: Database, worker: int) -> bool:
    """Let a worker claim again unless its pod is marked; return whether it may."""
    statement = load("fairlead_worker.parent", "undrain")
    return db.execute(statement, {"worker": worker}).fetchone() is not None


def slots(db: Database, worker: int) -> int:
    """Return the slots of a worker as the scheduler counts them."""
    found = {
        row["id"]: row["slots"] for row in rows(db, "fairlead_scheduler.loop", "workers", {})
    }
    return int(found[worker])
