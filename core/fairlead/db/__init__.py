"""Access to PostgreSQL: connections, statements, notifications and the schema.

In go connection settings; out come sessions (`connect`), each with all that its statements
depend on (`session_settings`; `shared_session` behind a pooler), the text of statements from
each package's `sql` folder (`statements`), the notifications of a session (`notifications`) and
an installed or upgraded schema (`migrate`, with the files of `migrations`). `schema.sql` is
generated and shows the result of all migrations.

The package imports psycopg and `fairlead.runtime.wakeup`, and no service. Begin with `connect`;
the contract of the database begins in `migrations/0001_expand_jobs.sql`.
"""
