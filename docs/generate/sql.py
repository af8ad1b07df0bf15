"""The SQL contract as a migrated database has it."""

from collections.abc import Sequence
from pathlib import Path

import psycopg

from fairlead.cli.failure import bound

PATH = Path("docs/reference/sql.md")

_HEAD = """# The SQL contract

Written by `python -m docs.generate` from a migrated database. Everything is in the schema
`fairlead`; names that begin with an underscore are Fairlead's own and may change.

```sql
INSERT INTO fairlead.jobs (kind, payload) VALUES ('send_email', '{"to": "a@example.com"}');

INSERT INTO fairlead.jobs (queue, tenant, kind, payload, priority, run_at, dedup_key, timeout)
VALUES ('reports', 'acme', 'daily', '{"day": "2026-11-20"}', 5, now() + interval '1 hour',
        'daily:2026-11-20', '10 min')
ON CONFLICT DO NOTHING RETURNING id;
```

* It works alone, with many rows, with `COPY`, through PgBouncer's transaction mode, and inside
  your own transaction: rolled back, the job never existed.
* Write `ON CONFLICT` without a target, and `RETURNING id` alone: your role may read no other
  column. For a duplicate no row comes back.
* An INSERT waits for another open transaction that holds the same dedup key: set `lock_timeout`
  where that matters.
* For a tenant or a queue that has reached its backlog limit an INSERT is refused with FL005.
  One whose dedup key is live makes no new job and is not refused.
* A `run_at` that has passed makes the job pending at once; its place is at the end of its lane.
"""
_ROLES = """## Roles

`fairlead migrate` makes them where its login may; else let an administrator run this, and
migrate again. Grant a role to each login: `GRANT fairlead_enqueue TO my_application`.

```sql
CREATE ROLE fairlead_enqueue; CREATE ROLE fairlead_worker; CREATE ROLE fairlead_scheduler;
CREATE ROLE fairlead_autoscaler; CREATE ROLE fairlead_admin;
GRANT fairlead_scheduler TO the_login_that_migrates;
```

| role | for | may |
| --- | --- | --- |
| `fairlead_enqueue` | applications | insert jobs and schedules, and read `job_status` |
| `fairlead_worker` | workers | claim, finish and hand back jobs |
| `fairlead_scheduler` | schedulers | dispatch, sweep and fire; owns the history's partitions |
| `fairlead_autoscaler` | the autoscaler | read the queue and the workers |
| `fairlead_admin` | people | read everything, steer jobs, schedules and policies |

## Row-level security

`fairlead migrate --rls` shows each login its own tenants alone, in `jobs`, `schedules` and
`job_status`, and in every function. Who has which tenant stands in one table:

```sql
INSERT INTO fairlead.tenant_logins (login, tenant) VALUES ('acme_app', 'acme');
```

The tenant comes from the login, which no setting changes. Owners, superusers, services and
administrators see every tenant. For the others PostgreSQL refuses `COPY` into the tables.
`queue_stats` is for those who see every tenant.

## Errors

| SQLSTATE | means |
| --- | --- |
| `FL001` | The fencing token is stale: the job is another worker's or over. Roll back. |
| `FL003` | The function needs READ COMMITTED. Call it in a transaction of its own. |
| `FL004` | The finished job cannot be retried: its payload was not kept. |
| `FL005` | Its tenant or queue is at its backlog limit. Insert again when some have ended. |
| `23514` | A value is out of bounds; the constraint's name says which and why. |
"""
_CALLING = """\
## Functions

None may be called by PUBLIC.

* Cancel or retry several jobs of one transaction in the order of their ids. Each call holds its
  job until the transaction ends, and two transactions that want what the other holds are a
  deadlock: PostgreSQL ends one of them.
* Keep such a transaction short. It delays the ends of the jobs that it holds, which workers try
  to write twice a second, and of no others.
* A finished job has at most one unfinished repeat: `retry` answers it while there is one, and
  makes a new one when it has ended. `redrive` repeats a failed job once however often it is
  called: the job remembers that for as long as its own ending is kept. When the repeat fails,
  it is a failed job of its own, and redriven like the others.

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
# Those of jobs stand in the function that admits its rows (ADR 0011).
CHECKS = """
    SELECT conname::text FROM pg_constraint
    WHERE conrelid = %(table)s::regclass AND contype = 'c'
    UNION ALL
    SELECT (regexp_matches(p.prosrc, '''(\\w+_(?:is|are)_\\w+)''', 'g'))[1]
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
    WHERE t.tgrelid = %(table)s::regclass
    ORDER BY 1
"""
_FUNCTIONS = """
    SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ')',
           pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc'),
           (SELECT string_agg(replace(r, 'fairlead_', ''), ', ' ORDER BY r)
            FROM unnest(ARRAY['fairlead_enqueue', 'fairlead_worker', 'fairlead_scheduler',
                              'fairlead_admin']) r
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
    """Return the page, from a migrated database that a superuser may read."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = [_table(connection, table) for table in ("jobs", "schedules")]
        parts = [*tables, _functions(connection), _views(connection)]
    return "\n".join([_HEAD, *parts, _ROLES])


def _table(connection: psycopg.Connection[tuple[object, ...]], table: str) -> str:
    name = f"fairlead.{table}"
    columns = connection.execute(_COLUMNS, [name, True]).fetchall()
    checks = [str(row[0]) for row in connection.execute(CHECKS, {"table": name})]
    rows = [
        (f"`{column}`", kind, _code(default), about) for column, kind, default, about in columns
    ]
    return (
        f"## Table {table}\n\nThe columns that an application may set.\n\n"
        + _grid(("column", "type", "default", "what it means"), rows)
        + "\nBounds. A row that breaks one is refused as a CHECK of that name refuses it:\n\n"
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
    return "## Views\n\nNone counts a whole backlog.\n\n" + "\n".join(parts)


def _code(default: object) -> str:
    plain = str(default).replace("::text", "").replace("::jsonb", "")
    return f"`{plain}`" if plain else ""


def _grid(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(
        "| " + " | ".join("" if cell is None else str(cell) for cell in line) + " |\n"
        for line in lines
    )
