"""Strict bands on PostgreSQL: who is claimed first, ageing, and bands that come and go."""

from typing import cast

from fairlead import policy_storage
from tests.support.children import register
from tests.support.race import Database, claim
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

BANDS = """
fairness: {reserve: null}
bands:
  - {name: urgent, priorities: {from: 1}}
  - {name: normal, maxWait: 1s, priorities: {from: 0, to: 0}}
  - {name: bulk, maxWait: 10m}
"""


def insert(db: Database, tenant: str, priority: int, count: int = 1) -> list[int]:
    """Insert jobs of a tenant and return their ids."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind, priority)"
        " SELECT %s, 'noop', %s FROM generate_series(1, %s) RETURNING id",
        [tenant, priority, count],
    )
    return sorted(int(row[0]) for row in rows.fetchall())


def queued(db: Database) -> dict[int, int]:
    """Return the band of each row of work_queue."""
    rows = db.execute("SELECT job_id, band FROM fairlead.work_queue").fetchall()
    return {int(job): int(band) for job, band in rows}


def test_workers_claim_the_highest_band_first(database_url: str, db: Database) -> None:
    """Whatever was dispatched before, and however much each tenant has had."""
    worker = register(db, slots=4)
    policy_storage.store(db, BANDS, reason="bands")
    bulk, normal = insert(db, "loud", -1, 300), insert(db, "loud", 0, 2)
    with scheduling(database_url):
        led(db)
        until(lambda: set(normal) <= queued(db).keys(), what="the normal jobs queued")
        urgent = insert(db, "quiet", 5, 2)
        until(lambda: set(urgent) <= queued(db).keys(), what="the urgent jobs queued")
        bands = queued(db)
        first = claim(db, worker, limit=5)

    assert [0, 0, 1, 1] == [bands[job] for job in (*urgent, *normal)]
    assert {2} == {bands[job] for job in bulk if job in bands}
    assert {*urgent, *normal} < {lease.job for lease in first}


def test_a_job_that_waits_too_long_goes_up_though_it_was_dispatched(
    database_url: str, db: Database
) -> None:
    """Its row is recalled from the band below, for those above are claimed before it."""
    register(db, slots=4)
    policy_storage.store(db, BANDS, reason="bands")
    (normal,) = insert(db, "loud", 0)
    with scheduling(database_url):
        until(lambda: queued(db).get(normal) == 1, what="the job in its band")
        insert(db, "busy", 5, 50)
        until(lambda: queued(db).get(normal) == 0, what="the job in the band above")
        answer = db.execute("SELECT fairlead.explain(%s)", [normal]).fetchone()

    assert answer is not None
    assert "queued" == cast("dict[str, object]", answer[0])["state"]


def test_a_new_leader_goes_on_in_every_band(database_url: str, db: Database) -> None:
    """And rows of bands that another policy has not are dispatched anew."""
    register(db, slots=4)
    policy_storage.store(db, BANDS, reason="bands")
    jobs = [*insert(db, "a", 5), *insert(db, "a", 0), *insert(db, "a", -5)]
    with scheduling(database_url):
        until(lambda: queued(db) == dict(zip(jobs, (0, 1, 2), strict=True)), what="three bands")

    with scheduling(database_url):
        led(db)
        policy_storage.store(db, "{}", reason="no bands")
        until(lambda: queued(db) == dict.fromkeys(jobs, 0), what="one band")


def test_a_job_below_others_is_explained_by_its_band(database_url: str, db: Database) -> None:
    """blocked_by: band."""
    register(db, slots=4)
    policy_storage.store(db, BANDS, reason="bands")
    insert(db, "busy", 5, 500)
    with scheduling(database_url):
        until(lambda: len(queued(db)) > 4, what="a full queue")
        (bulk,) = insert(db, "a", -5)

        def blocked_by() -> object:
            row = db.execute("SELECT fairlead.explain(%s)", [bulk]).fetchone()
            return None if row is None else cast("dict[str, object]", row[0]).get("blocked_by")

        until(lambda: blocked_by() == "band", what="the answer")
