"""What the primary has, read at once, and what it notes for that, such as each claim."""

from collections.abc import Mapping

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead import policy_storage
from tests.chaos import records, ruled
from tests.chaos.fail_overs import orders
from tests.chaos.fail_overs.verdicts import Standing
from tests.chaos.history import Ended
from tests.chaos.ruled import Allowed

_ALLOWED = Allowed(of_queue=5, of_tenant=3, of_account=2, weight=1.0)
_NOTE_CLAIMS = b"""
CREATE TABLE public.chaos_claims (job bigint NOT NULL, token bigint NOT NULL);
CREATE FUNCTION public.chaos_note_claim() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.chaos_claims (job, token)
    SELECT now.job_id, now.token FROM changed now JOIN former was ON was.job_id = now.job_id
    WHERE now.token IS NOT NULL AND now.token IS DISTINCT FROM was.token;
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_claim AFTER UPDATE ON fairlead.work_queue
REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT
EXECUTE FUNCTION public.chaos_note_claim();
"""


def begin(db: Connection[TupleRow]) -> int:
    """Store the policy, and have the server note what is judged; return the version."""
    records.begin(db)
    ruled.begin(db)
    db.execute(_NOTE_CLAIMS)
    db.execute(orders.MAKE)
    stored = policy_storage.store(db, ruled.document(_ALLOWED), reason="fail-overs")
    return stored.version


def read(
    db: Connection[TupleRow], version: int, seen: int, *, lease_seconds: float | None = None
) -> Standing:
    """Read all of it from one snapshot, when so many events have been recorded.

    Args:
        db: a session that is in no transaction.
        version: the policy's.
        seen: how many events that is.
        lease_seconds: workers', to hold every change against the model, which takes a while.
    """
    with db.transaction():
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        ended = db.execute("SELECT id, token, outcome FROM fairlead.job_history").fetchall()
        unfinished = db.execute("SELECT id FROM fairlead.jobs").fetchall()
        placed = db.execute("SELECT number, job, kind FROM public.chaos_orders").fetchall()
        claims = db.execute("SELECT job, token FROM public.chaos_claims").fetchall()
        versions: Mapping[int, Allowed] = {version: _ALLOWED}
        return Standing(
            seen=seen,
            orders={int(row[0]): (int(row[1]), str(row[2])) for row in placed},
            unfinished=[int(row[0]) for row in unfinished],
            ended=[Ended(int(row[0]), row[1], str(row[2])) for row in ended],
            effects=records.effects(db),
            claims={(int(row[0]), int(row[1])) for row in claims},
            usurped=records.usurped(db),
            over=ruled.over(ruled.dispatches(db), versions),
            strange=()
            if lease_seconds is None
            else records.strange(db, lease_seconds=lease_seconds),
        )


def unended(db: Connection[TupleRow], numbers: list[int]) -> list[int]:
    """Return the jobs of these orders that are there and have not ended."""
    rows = db.execute(
        "SELECT j.id FROM public.chaos_orders o JOIN fairlead.jobs j ON j.id = o.job"
        " WHERE o.number = ANY (%s)",
        [numbers],
    ).fetchall()
    return [int(row[0]) for row in rows]
