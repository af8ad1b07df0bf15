"""What the statements of every program depend on: the one list of settings, with values.

A role, a database, the server, an environment (`PGOPTIONS`, `PGDATESTYLE`) or another client of
a pooler may have set any of them otherwise. A session of a program's own sets them at its
start. A session that PgBouncer shares sets them for each transaction, and leaves nothing behind
(`shared_session`).
"""

from collections.abc import Mapping

Settings = Mapping[str, str]
"""Names and values, both as SQL writes them."""

EVERY: Settings = {
    # How values are written and read: psycopg reads no date that is not in ISO's form.
    "client_encoding": "'UTF8'",
    "datestyle": "'ISO, MDY'",
    "intervalstyle": "'postgres'",
    "timezone": "'UTC'",
    "extra_float_digits": "1",
    "bytea_output": "'hex'",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    # Whose operators and functions a statement means, and which rows.
    "search_path": "pg_catalog, pg_temp",
    "row_security": "on",
    # A crash must not undo what has been answered: a fencing token would be given twice.
    "synchronous_commit": "on",
    # Errors are answers: some are expected, and after them the session goes on.
    "exit_on_error": "off",
    "client_min_messages": "notice",
    # Programs bound their statements themselves, where they must end.
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
"""What a transaction of any program sets."""

_LEVELS: Settings = {
    "default_transaction_isolation": "'read committed'",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "idle_session_timeout": "0",
}
"""What only a session can set. A shared one says the levels in each BEGIN."""

PLANS: Settings = {
    # No plan may rest on what ANALYZE found: see ADR 0003.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_mergejoin": "off",
    "enable_sort": "off",
    "plan_cache_mode": "force_generic_plan",
    # Before PostgreSQL 18 a plan that has to use what is off is priced beyond every threshold
    # and was compiled on each call: 436 ms for a steal of nothing, 1.4 ms without.
    "jit": "off",
    # What such plans are made of.
    "enable_indexscan": "on",
    "enable_indexonlyscan": "on",
    "enable_tidscan": "on",
    "enable_nestloop": "on",
    "enable_hashjoin": "on",
    "enable_hashagg": "on",
    "enable_material": "on",
    "enable_partition_pruning": "on",
    "from_collapse_limit": "8",
    "join_collapse_limit": "8",
    "geqo": "off",
}
"""What the hot statements of a service set in addition."""

SERVICE: Settings = {
    **PLANS,
    # A process that freezes inside of a transaction must not keep its locks.
    "idle_in_transaction_session_timeout": "'5s'",
}
"""What a service's sessions set in addition."""

_FROM_17: Settings = {"transaction_timeout": "0"}


def of_session(server_version: int, more: Settings | None = None) -> bytes:
    """Return the command that sets everything for the rest of a session.

    Args:
        server_version: as psycopg gives it, such as 180004.
        more: settings in addition, or in place of those of every session.
    """
    return _commands("set", {**_of_transaction(server_version), **_LEVELS, **(more or {})})


def of_transaction(server_version: int, more: Settings | None = None) -> bytes:
    """Return the command that sets everything until the transaction ends."""
    return _commands("set local", {**_of_transaction(server_version), **(more or {})})


def commands(settings: Settings) -> tuple[str, ...]:
    """Return the commands that set these for the rest of a session, one each."""
    return tuple(f"set {name} = {value}" for name, value in settings.items())


def _of_transaction(server_version: int) -> Settings:
    return {**EVERY, **(_FROM_17 if server_version >= 170_000 else {})}


def _commands(verb: str, settings: Settings) -> bytes:
    return "; ".join(f"{verb} {name} = {value}" for name, value in settings.items()).encode()
