"""What belongs to others while a login attacks, and whether it was changed or is held up."""

from collections.abc import Mapping, Sequence
from typing import Final

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support import race
from tests.support.attacks import relations

CANARY: Final = "payload of the victim"

_PLACED = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, payload)
    VALUES ('victim', 'victim', 'k', to_jsonb(%(canary)s::text));
    INSERT INTO fairlead.schedules (tenant, name, cron, kind, payload)
    VALUES ('victim', 'victim', '0 3 * * *', 'k', to_jsonb(%(canary)s::text));
    INSERT INTO fairlead.batches (tenant, kind, open, payload)
    VALUES ('victim', 'k', true, jsonb_build_object('canary', %(canary)s::text));
    INSERT INTO fairlead.jobs (tenant, kind, batch)
    SELECT 'victim', 'k', max(id) FROM fairlead.batches;
    INSERT INTO fairlead.pool_owners (pool, release) VALUES ('owned', 'shop');
    INSERT INTO fairlead.pod_drains (pod_uid, pool, drain_until, epoch)
    VALUES ('victim', 'victim', now() + interval '1 hour', 1);
    UPDATE fairlead.jobs SET payload = to_jsonb(%(canary)s::text)
    WHERE id IN (%(ran)s, %(runs)s);
    INSERT INTO fairlead.attempt_errors (job_id, token, attempt, ended_as, error)
    VALUES (%(runs)s, %(token)s, 1, 'failed', %(canary)s);
    INSERT INTO fairlead.job_progress (job_id, token, fraction, note)
    VALUES (%(runs)s, %(token)s, 0.5, %(canary)s);
    SELECT fairlead._end_jobs(array[%(ran)s::bigint], '{failed}', array[%(canary)s]);
"""
_TABLES_HELD = """
    SELECT DISTINCT 'all of ' || c.relname FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
    WHERE l.pid IS NOT DISTINCT FROM %s AND c.relnamespace = 'fairlead'::regnamespace
      AND c.relkind IN ('r', 'p')
      AND l.mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
"""
_ROWS_HELD = """
    SELECT '{called} ' || split_part(ltrim(r::text, '('), ',', 1) FROM {name} r
    WHERE r.ctid NOT IN (SELECT o.ctid FROM {name} o FOR UPDATE SKIP LOCKED)
"""
_ROWS = "SELECT '{called}', r::text FROM {name} r"
_TEXT_COLUMNS = """
    SELECT format('SELECT %I::text FROM %I.%I', a.attname, 'fairlead', c.relname)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind = 'r'
      AND c.relname <> 'schema_versions' AND a.attnum > 0 AND NOT a.attisdropped
      AND a.atttypid IN ('text'::regtype, 'name'::regtype)
    ORDER BY c.relname, a.attname
"""
MAY_HOLD: Mapping[str | None, tuple[str, ...]] = {
    "fairlead_autoscaler": ("leaders autoscaler", "all of policy_versions"),
    "fairlead_worker": ("pod_drains ", "floor_scans "),
}
"""What a login's open transaction may keep from others; a scheduler's may keep everything."""


class Victims:
    """Others' rows, at least one in each table that a function of a login's might reach."""

    def __init__(self, superuser: Connection[TupleRow]) -> None:
        self._superuser = superuser
        lease = race.run_one(superuser)
        workers = superuser.execute("SELECT id FROM fairlead.worker_leases").fetchall()
        epochs = superuser.execute("SELECT epoch FROM fairlead.leaders").fetchall()
        others = (int(row[0]) for row in (*workers, *epochs))
        self.ids: Sequence[int] = (lease.job, lease.token, *others)
        """Numbers that a call may be given and that are not the login's."""
        values = {"canary": CANARY, "ran": race.insert_one(superuser), "runs": lease.job}
        for statement in _PLACED.split(";\n"):
            if statement.strip():
                superuser.execute(statement.encode(), {**values, "token": lease.token})
        tables = [(n, n.removeprefix("fairlead.")) for n, k in relations(superuser) if k == "r"]
        self.texts: Sequence[str] = self._texts()
        """Names and other texts that a call may be given and that are not the login's."""
        self._held = _union(_ROWS_HELD, tables)
        self._all = _union(_ROWS, tables)

    def _texts(self) -> Sequence[str]:
        """Return what text columns hold, but for the canary: who gives it is answered it."""
        columns = self._superuser.execute(_TEXT_COLUMNS).fetchall()
        each = b" UNION ".join(str(column[0]).encode() for column in columns)
        found = {str(row[0]) for row in self._superuser.execute(each).fetchall() if row[0]}
        return sorted(text for text in found if CANARY not in text)

    def held(self, by: Connection[TupleRow] | None) -> set[str]:
        """Return what nobody else can lock while a login's transaction is open.

        None: while prepared transactions are there, which have no session.
        """
        pid = None if by is None else by.info.backend_pid
        tables = self._superuser.execute(_TABLES_HELD, [pid]).fetchall()
        rows = [] if tables else self._superuser.execute(self._held).fetchall()
        return {str(row[0]) for row in (*tables, *rows)}

    def read_views(self) -> None:
        """Read every row of every view, with every column, as an administrator does.

        Raises:
            psycopg.Error: what a login has stored keeps others from it.
        """
        for name, kind in relations(self._superuser):
            if kind == "v":
                self._superuser.execute(f"SELECT count(r::text) FROM {name} r".encode())

    def rows(self) -> set[tuple[str, str]]:
        """Return every row, with its table."""
        return {(str(t), str(r)) for t, r in self._superuser.execute(self._all).fetchall()}


def _union(each: str, tables: Sequence[tuple[str, str]]) -> bytes:
    return " UNION ALL ".join(each.format(name=n, called=c) for n, c in tables).encode()
