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
  `lock_timeout` where that matters. `fairlead.enqueue` waits 10 s where nothing is set.
* What the next job of a dedup key is to do to the first, `fairlead.enqueue` says:
  [replace, debounce, once in a period](../how-to/unique-jobs.md).
* An INSERT for a tenant or a queue at its backlog limit is refused with FL005. If a live job
  has the same dedup key, the INSERT makes no new job and is not refused.
* A job with a `batch` joins that batch, a row of the table below: see
  [batches](../how-to/batches.md).
* A `run_at` in the past makes the job pending at once, at the end of its lane.
* A transaction that you prepare (`PREPARE TRANSACTION`) must not notify: `SET LOCAL
  fairlead.notify = off` before the INSERT, or set it for the role. The scheduler then finds the
  job by polling, a tenth of a second after `COMMIT PREPARED`.
"""
_TASKS = (
    (
        "`app`",
        "`fairlead_enqueue`",
        "applications",
        "insert jobs, batches, schedules; list, follow, cancel, retry and change its own",
    ),
    (
        "`worker`",
        "`fairlead_worker`",
        "workers and their handlers",
        "claim, finish and hand back jobs by functions; insert jobs and batches",
    ),
    (
        "`reader`",
        "`fairlead_reader`",
        "dashboards, people",
        "read every job, the views and schedules",
    ),
    (
        "`viewer`",
        "`fairlead_viewer`",
        "people who look",
        "read everything, as an operator does, and change nothing",
    ),
    (
        "`operator`",
        "`fairlead_operator`",
        "people on call",
        "read everything; cancel, retry, redrive; pause; release workers; switch schedules",
    ),
    (
        "`admin`",
        "`fairlead_admin`",
        "people who decide",
        "that, and change schedules, policies, bindings; erase; insert jobs; end attempts",
    ),
    (
        "`scheduler`",
        "`fairlead_scheduler`",
        "schedulers",
        "dispatch, sweep and fire; keep the history's partitions",
    ),
    (
        "`autoscaler`",
        "`fairlead_autoscaler`",
        "the autoscaler",
        "read the queue and the workers; store policies",
    ),
)
_ROLES = """## Roles

Each login has a task, and each task a role. `fairlead roles grant my_application --as app`
gives a login a task, and so does SQL:

```sql
CREATE ROLE my_application LOGIN PASSWORD '…';
GRANT fairlead_enqueue TO my_application;
```

{tasks}
A login may have several tasks, such as `app` and `worker` where an application's pages and
handlers share one. But give `operator` to nobody's program: everything is an operator's
own, so that with `app` beside it a login changes and removes anybody's schedules.

`fairlead migrate` makes the roles if its login may. Otherwise an administrator runs this, and
you migrate again:

```sql
CREATE ROLE fairlead_enqueue; CREATE ROLE fairlead_reader; CREATE ROLE fairlead_viewer;
CREATE ROLE fairlead_worker; CREATE ROLE fairlead_operator; CREATE ROLE fairlead_admin;
CREATE ROLE fairlead_scheduler; CREATE ROLE fairlead_autoscaler;
```

The login that made the roles may grant them, and a superuser. `fairlead roles list` shows who
has which, and `fairlead roles revoke my_application --as app` takes one away, as does `REVOKE
fairlead_enqueue FROM my_application`. A service whose login has not its role says so and ends
with exit code 2.

Every `migrate` takes away what these roles have beyond their tasks: grant more to a role of
your own. [Rights](rights.md) has every right of each.

What is *its own*: the jobs that a login inserted, those that its schedules inserted, and what
repeats them. The login is the one with which the session began (`session_user`). `job_status`,
`list_jobs`, `explain`, `cancel` and `retry` know no other job, and `schedules` and `batches`
show no others. For which tenant it inserts is the login's to say. What a handler inserts over
its worker's login is that login's own: an application that is to cancel it too uses one login
for both.

## Row-level security by tenant

With `fairlead migrate --rls`, each login sees and inserts only its own tenants in `jobs`,
`batches`, `schedules`, `job_status` and every function, and what is its own is what is its
tenants', whichever login inserted it. One table maps logins to tenants:

```sql
INSERT INTO fairlead.tenant_logins (login, tenant) VALUES ('acme_app', 'acme');
```

`fairlead roles grant acme_app --as app --tenant acme` does both. The tenant depends on the
login alone; no setting changes it. Owners, superusers, schedulers, autoscalers, operators,
administrators and viewers see every tenant; a `fairlead_reader` sees its tenants, and so does
a worker's login, whose handlers insert for any. `queue_stats` is only for logins that see
every tenant.

## Pools of a worker's login

A worker's login that is listed here serves these pools alone; any other serves all pools.

```sql
INSERT INTO fairlead.pool_logins (login, pool) VALUES ('reports_worker', 'reports');
```

`fairlead roles grant reports_worker --as worker --pool reports` does the same. Such a login
inserts jobs into queues of which its workers hold a job at that moment, and into no other,
unless it has the task `app`, too: a handler inserts before it completes its job.

## Errors

| SQLSTATE | means |
| --- | --- |
| `FL001` | Stale fencing token: another worker has the job, or it is finished. Roll back. |
| `FL003` | The function needs READ COMMITTED. Call it in a transaction that begins so. |
| `FL004` | The finished job cannot be retried, because its payload was not kept. |
| `FL005` | The tenant or queue is at its backlog limit. Insert again when jobs have finished. |
| `FL007` | The batch is over, or none of the login's: see [batches](../how-to/batches.md). |
| `FL006` | The autoscaler's row of `leaders` is impossible: run `reset_leadership()`. |
| `23514` | A value is out of bounds; the constraint's name tells which, and why. |
"""
_AUDIT = """\
## The audit log

Calls of `cancel`, `cancel_jobs`, `set_priority`, `set_priorities`, `retry`, `redrive`,
`redact`, `pause`, `resume` and `apply_policy` that change something, of `enqueue` that
replace another login's job, each step of `fairlead tenants erase` and of
`fairlead workers release`, and changes of `schedules`, of
`pool_logins` and `tenant_logins`, of whose a database or pool is by hand, of where the policy
is edited, and that a login closes a batch that another one made, are rows of
`fairlead.audit`, which operators and administrators may read and nobody may change. Each has
the login and the `application_name`. Where several people share a login, say who acts and
why, in the same transaction:

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
  jobs deadlock: PostgreSQL ends one of them. Retry a job with a dedup key in a transaction of
  its own: the call waits for whoever else is inserting that key, as an INSERT does, and the
  order of the ids is not the order of the keys.
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
# The checks of jobs are in the function that admits its rows (ADR 0011), and so are those of
# the payloads of batches and schedules.
CHECKS = """
    SELECT conname::text FROM pg_constraint
    WHERE conrelid = %(table)s::regclass AND contype = 'c'
    UNION ALL
    SELECT (regexp_matches(p.prosrc, '''(\\w+_(?:is|are)_\\w+)''', 'g'))[1]
    FROM pg_proc p
    WHERE (p.oid, %(table)s::regclass) IN (
        ('fairlead._admit_unusual'::regproc, 'fairlead.jobs'::regclass),
        ('fairlead._admit_batch'::regproc, 'fairlead.batches'::regclass),
        ('fairlead._admit_schedule'::regproc, 'fairlead.schedules'::regclass))
    ORDER BY 1
"""
_FUNCTIONS = """
    SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ')',
           pg_get_function_result(p.oid), obj_description(p.oid, 'pg_proc'),
           (SELECT string_agg(replace(r, 'fairlead_', ''), ', ' ORDER BY r)
            FROM unnest(ARRAY['fairlead_enqueue', 'fairlead_reader', 'fairlead_viewer',
                              'fairlead_worker', 'fairlead_operator', 'fairlead_scheduler',
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
    """Return the page, from a migrated database to which the URL connects as a superuser."""
    with psycopg.connect(url, autocommit=True) as connection:
        names = ("jobs", "batches", "schedules")
        tables = [_table(connection, table) for table in names]
        parts = [*tables, _functions(connection), _views(connection)]
    tasks = _grid(("`--as`", "role", "for", "may"), _TASKS)
    return "\n".join([_HEAD, *parts, _AUDIT + _ROLES.replace("{tasks}", tasks)])


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
