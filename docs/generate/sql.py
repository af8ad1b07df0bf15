"""Write the page of the SQL contract from a migrated database."""

from collections.abc import Sequence
from pathlib import Path

import psycopg

from fairlead_cli.error_sentences import bound

PATH = Path("docs/reference/sql.md")

_HEAD = """# The SQL contract

How an application uses Fairlead by plain SQL: it inserts jobs, and calls the functions below.
Everything is in the schema `fairlead`; names that begin with an underscore are internal and may
change. `python -m docs.generate` writes this page from a migrated database.

```sql
INSERT INTO fairlead.jobs (kind, payload) VALUES ('send_email', '{"to": "a@example.com"}');

INSERT INTO fairlead.jobs (queue, tenant, kind, payload, priority, run_at, dedup_key, timeout)
VALUES ('reports', 'acme', 'daily', '{"day": "2026-11-20"}', 5, now() + interval '1 hour',
        'daily:2026-11-20', '10 min')
ON CONFLICT DO NOTHING RETURNING id;
```

* An INSERT works with one row or many, through PgBouncer's transaction mode, and inside your
  own transaction: if that rolls back, the job never existed. PostgreSQL refuses `COPY` to all
  but the schema's owner, because each login meets only its own rows; an INSERT of many rows is
  as fast.
* Write `ON CONFLICT` without a target, or with `(queue, tenant, dedup_key) WHERE dedup_key IS
  NOT NULL`; it sees every login's keys. Of columns, your role may read these three and `id`:
  write `RETURNING id`. A duplicate returns no row.
* An INSERT waits for another open transaction that holds the same dedup key: set
  `lock_timeout` where that matters.
* An INSERT for a tenant or a queue at its backlog limit is refused with FL005. If a live job
  has the same dedup key, the INSERT makes no new job and is not refused.
* A `run_at` in the past makes the job pending at once, at the end of its lane.
* A transaction that you prepare (`PREPARE TRANSACTION`) must not notify: `SET LOCAL
  fairlead.notify = off` before the INSERT, or set it for the role. The scheduler then finds the
  job by polling, a tenth of a second after `COMMIT PREPARED`.
"""
_ROLES = """## Roles

`fairlead migrate` creates the roles if its login may. Otherwise an administrator runs this, and
you migrate again. Grant a role to each login: `GRANT fairlead_enqueue TO my_application`.

```sql
CREATE ROLE fairlead_enqueue; CREATE ROLE fairlead_reader; CREATE ROLE fairlead_worker;
CREATE ROLE fairlead_scheduler; CREATE ROLE fairlead_autoscaler; CREATE ROLE fairlead_admin;
```

| role | for | may |
| --- | --- | --- |
| `fairlead_enqueue` | applications | insert jobs and schedules; follow and change its own |
| `fairlead_reader` | dashboards, people | read every job, the views and schedules |
| `fairlead_worker` | workers | claim, finish and hand back jobs by functions; no table |
| `fairlead_scheduler` | schedulers | dispatch, sweep and fire; keep the history's partitions |
| `fairlead_autoscaler` | the autoscaler | read the queue and the workers |
| `fairlead_admin` | people | read everything, change jobs, schedules and policies |

Every `migrate` takes away what these roles have beyond that: grant more to a role of your own.

What is *its own*: the jobs that a login inserted, those that its schedules inserted, and what
repeats them. The login is the one with which the session began (`session_user`). `job_status`,
`explain` and `cancel` know no other job, and `schedules` shows no other schedule. For which
tenant it inserts is the login's to say.

## Row-level security by tenant

With `fairlead migrate --rls`, each login sees and inserts only its own tenants in `jobs`,
`schedules`, `job_status` and every function, and what is its own is what is its tenants',
whichever login inserted it. One table maps logins to tenants:

```sql
INSERT INTO fairlead.tenant_logins (login, tenant) VALUES ('acme_app', 'acme');
```

The tenant depends on the login alone; no setting changes it. Owners, superusers, services and
administrators see every tenant; a `fairlead_reader` sees its tenants.
`queue_stats` is only for logins that see every tenant.

## Pools of a worker's login

A worker's login that is listed here serves these pools alone; any other serves all pools.

```sql
INSERT INTO fairlead.pool_logins (login, pool) VALUES ('reports_worker', 'reports');
```

## Errors

| SQLSTATE | means |
| --- | --- |
| `FL001` | Stale fencing token: another worker has the job, or it is finished. Roll back. |
| `FL003` | The function needs READ COMMITTED. Call it in a transaction that begins so. |
| `FL004` | The finished job cannot be retried, because its payload was not kept. |
| `FL005` | The tenant or queue is at its backlog limit. Insert again when jobs have finished. |
| `FL006` | The autoscaler's row of `leaders` is impossible: run `reset_leadership()`. |
| `23514` | A value is out of bounds; the constraint's name tells which, and why. |
"""
_AUDIT = """\
## The audit log

Calls of `cancel`, `cancel_jobs`, `retry`, `redrive`, `redact`, `pause`, `resume` and
`apply_policy` that change something, each step of `fairlead tenants erase`, and changes of
`schedules`, are rows of `fairlead.audit`, which `fairlead_admin` may read and nobody may
change. Each has the login and the `application_name`. Where several people
share a login, say who acts and why, in the same transaction:

```sql
BEGIN;
SELECT set_config('fairlead.actor', 'ann', true);
SELECT set_config('fairlead.reason', 'a duplicate', true);
SELECT fairlead.cancel(42);
COMMIT;
```

"""
_CALLING = """\
## Functions

PUBLIC may call none of them.

* If one transaction cancels or retries several jobs, do it in the order of their ids. Each
  call locks its job until the transaction ends, and two transactions that want each other's
  jobs deadlock: PostgreSQL ends one of them.
* Keep such a transaction short. Workers cannot finish the jobs that it locks until it ends;
  they try twice a second. Other jobs are not delayed.
* A finished job has at most one unfinished repeat: `retry` returns that one while it exists,
  and makes a new one once it is finished. `redrive` repeats a failed job only once, however
  often you call it: the job remembers that for as long as its history is kept. A repeat that
  fails is a failed job of its own, and can be redriven like any other.

"""
_COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, a.atttypmod),
           coalesce(pg_get_expr(d.adbin, d.adrelid), ''), col_description(a.attrelid, a.attnum)
    FROM pg_attribute a
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
      AND (NOT %s OR has_column_privilege('fairlead_enqueue', a.attrelid, a.attnum, 'insert'))
    ORDER BY a.attnum
"""
# The checks of jobs are in the function that admits its rows (ADR 0011).
CHECKS = """
    SELECT conname::text FROM pg_constraint
    WHERE conrelid = %(table)s::regclass AND contype = 'c'
    UNION ALL
    SELECT (regexp_matches(p.prosrc, '''(\\w+_(?:is|are)_\\w+)''', 'g'))[1]
    FROM pg_proc p
    WHERE p.oid = 'fairlead._admit_unusual'::regproc
      AND %(table)s::regclass = 'fairlead.jobs'::regclass
    ORDER BY 1
"""
_FUNCTIONS = """
    SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ')',
           pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc'),
           (SELECT string_agg(replace(r, 'fairlead_', ''), ', ' ORDER BY r)
            FROM unnest(ARRAY['fairlead_enqueue', 'fairlead_reader', 'fairlead_worker',
                              'fairlead_scheduler', 'fairlead_admin']) r
            WHERE has_function_privilege(r, p.oid, 'execute'))
    FROM pg_proc p
    WHERE p.pronamespace = 'fairlead'::regnamespace AND p.proname !~ '^_' ORDER BY 1
"""
_VIEWS = """
    SELECT c.relname, obj_description(c.oid, 'pg_class'),
           (SELECT string_agg(format('`%s`', a.attname), ', ' ORDER BY a.attnum)
            FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)
    FROM pg_class c
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind = 'v' AND c.relname !~ '^_'
    ORDER BY 1
"""


def render(url: str) -> str:
    """Return the page, from a migrated database to which the URL connects as a superuser."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = [_table(connection, table) for table in ("jobs", "schedules")]
        parts = [*tables, _functions(connection), _views(connection)]
    return "\n".join([_HEAD, *parts, _AUDIT + _ROLES])


def _table(connection: psycopg.Connection[tuple[object, ...]], table: str) -> str:
    name = f"fairlead.{table}"
    columns = connection.execute(_COLUMNS, [name, True]).fetchall()
    checks = [str(row[0]) for row in connection.execute(CHECKS, {"table": name})]
    rows = [
        (f"`{column}`", kind, _code(default), about) for column, kind, default, about in columns
    ]
    return (
        f"## Table {table}\n\nAn application may set these columns.\n\n"
        + _grid(("column", "type", "default", "meaning"), rows)
        + "\nBounds. A row that breaks one is refused, as if by a CHECK of this name:\n\n"
        + "".join(f"* `{check}`: {bound(check)}\n" for check in checks)
    )


def _functions(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    found = connection.execute(_FUNCTIONS).fetchall()
    parts = [
        f"`{signature}` → `{result}` (may call: {roles})\n\n: {about}\n"
        for signature, result, about, roles in found
    ]
    return _CALLING + "\n".join(parts)


def _views(connection: psycopg.Connection[tuple[object, ...]]) -> str:
    found = connection.execute(_VIEWS).fetchall()
    parts = [
        f"### {name}\n\n{about}\n\nColumns: {columns}.\n" for name, about, columns in found
    ]
    return "## Views\n\nNo view counts a whole backlog.\n\n" + "\n".join(parts)


def _code(default: object) -> str:
    plain = str(default).replace("::text", "").replace("::jsonb", "")
    return f"`{plain}`" if plain else ""


def _grid(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(
        "| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |\n"
        for line in lines
    )
