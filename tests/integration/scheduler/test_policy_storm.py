"""Twenty versions of the policy a second: whatever is applied is one that was stored."""

import threading

from fairlead import policy_storage
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until

EDITS = 60
EVERY_SECONDS = 0.05
APPLIED = (
    "SELECT e.version, v.document FROM fairlead.policy_events e"
    " JOIN fairlead.policy_versions v USING (version) WHERE e.event = 'in_force' ORDER BY e.id"
)
PLACES = "SELECT id, ctid::text, xmin::text FROM fairlead.jobs"


def document(edit: int) -> str:
    """Return another weight and another limit each time."""
    return f"""
version: {edit}
queues:
  - match: {{queue: default}}
    tenants:
      overrides:
        - {{match: {{tenant: loud}}, weight: {1 + edit % 9}, slots: {{limit: {2 + edit % 7}}}}}
"""


def test_in_a_storm_of_edits_every_applied_version_is_one_that_was_stored(
    database_url: str, db: Database, connect: Connect
) -> None:
    """The last one is in force in the end, work goes on, and no job is written."""
    worker = register(db, slots=20)
    db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind) SELECT t, 'noop'"
        " FROM generate_series(1, 20000), (VALUES ('loud'), ('quiet')) v (t)"
    )
    stop = threading.Event()
    done: list[int] = []
    session = connect()

    def work() -> None:
        while not stop.wait(0.01):
            done.extend(finish(session, claim(session, worker, limit=20)))

    thread = threading.Thread(target=work, name="work")
    stored: dict[int, str] = {}
    with scheduling(database_url):
        led(db)
        before = set(db.execute(PLACES).fetchall())
        thread.start()
        try:
            until(lambda: done, what="the first endings")
            begun = len(done)
            for edit in range(1, EDITS + 1):
                text = document(edit)
                stored[policy_storage.store(db, text, reason="storm").version] = text
                stop.wait(EVERY_SECONDS)
            until(
                lambda: db.execute(APPLIED).fetchall()[-1][0] == max(stored),
                what="the last version in force",
                seconds=2,
            )
            assert len(done) > begun
        finally:
            stop.set()
            thread.join()
        left = set(db.execute(PLACES).fetchall())

    applied = db.execute(APPLIED).fetchall()
    assert EDITS == len(stored)
    assert [] == [row for row in applied if stored.get(row[0]) != row[1]]
    assert sorted(row[0] for row in applied) == [row[0] for row in applied]
    assert left
    assert left <= before
