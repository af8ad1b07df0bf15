"""A leader that has read a job dispatches the one that took its place, by what that says."""

from fairlead import policy_storage
from tests.support.children import register
from tests.support.enqueuing import enqueue, replace
from tests.support.race import Database, claim, finish, places
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

_KEYED = """
version: keyed
queues:
  - match: {queue: default}
    concurrency: [{key: payload.account, limit: 1, scope: queue}]
"""


def of_account(account: int) -> str:
    """Return the payload of a job of which one at a time may run."""
    return f'{{"account": {account}}}'


def insert(db: Database, account: int, *, dedup_key: str | None = None) -> int:
    """Insert a job of an account."""
    job = enqueue(db, payload=of_account(account), dedup_key=dedup_key).id
    assert job is not None
    return job


def dispatched(db: Database, job: int) -> None:
    """Wait until a job is in work_queue."""
    until(lambda: places(db, job) == ("queued",), what=f"job {job} being dispatched")


def test_a_limit_per_value_counts_what_the_new_payload_says(
    database_url: str, db: Database
) -> None:
    """Whatever the leader had read of the job before, which waited first and still does."""
    policy_storage.store(db, _KEYED, author="test")
    worker = register(db, slots=100)
    with scheduling(database_url):
        led(db)
        dispatched(db, insert(db, 1))
        (lease,) = claim(db, worker)
        insert(db, 1, dedup_key="key")
        behind = insert(db, 1)
        dispatched(db, insert(db, 2))  # it stands behind both, so both were read

        free = replace(db, of_account(3))
        dispatched(db, free)

        full = replace(db, of_account(1))
        dispatched(db, insert(db, 4))
        assert ("pending", "pending") == (*places(db, full), *places(db, behind))

        finish(db, [lease])
        dispatched(db, full)
        assert ("pending",) == places(db, behind)


def test_a_debounced_job_is_promoted_at_its_new_time(database_url: str, db: Database) -> None:
    """Sooner than it was to be, and later, while the leader watches the first time."""
    with scheduling(database_url):
        led(db)
        sooner = insert(db, 1, dedup_key="sooner")
        dispatched(db, sooner)
        enqueue(db, dedup_key="key", debounce="1 hour")

        found = enqueue(db, dedup_key="key", debounce="0.1 s")

        assert found.id is not None
        dispatched(db, found.id)
