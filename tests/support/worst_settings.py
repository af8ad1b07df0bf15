"""Settings of sessions at values with which programs did not work, and who may set them."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Literal

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tests.support.logins import as_login, login

Source = Literal["role", "database", "environment"]
"""Who has set them: each may."""

WORST = {
    "client_encoding": "LATIN1",
    "datestyle": "German",
    "intervalstyle": "sql_standard",
    "timezone": "Asia/Kolkata",
    "extra_float_digits": "-15",
    "bytea_output": "escape",
    "standard_conforming_strings": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "search_path": "nowhere",
    "row_security": "off",
    "synchronous_commit": "off",
    "exit_on_error": "on",
    "client_min_messages": "error",
    "statement_timeout": "2s",
    "lock_timeout": "1ms",
    "idle_in_transaction_session_timeout": "1s",
    "idle_session_timeout": "1s",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "on",
    "default_transaction_deferrable": "on",
    "enable_seqscan": "on",
    "enable_bitmapscan": "on",
    "enable_mergejoin": "on",
    "enable_sort": "on",
    "plan_cache_mode": "force_custom_plan",
    "jit": "on",
    "enable_indexscan": "off",
    "enable_indexonlyscan": "off",
    "enable_tidscan": "off",
    "enable_nestloop": "off",
    "enable_hashjoin": "off",
    "enable_hashagg": "off",
    "enable_material": "off",
    "enable_partition_pruning": "off",
    "from_collapse_limit": "1",
    "join_collapse_limit": "1",
    "geqo": "on",
}
_FROM_17 = {"transaction_timeout": "1s"}
_ALTER = {
    "role": sql.SQL("ALTER ROLE {} SET {} = {}"),
    "database": sql.SQL("ALTER DATABASE {} SET {} = {}"),
}


def worst(server_version: int) -> dict[str, str]:
    """Return every setting of a server of this version, at its worst."""
    return {**WORST, **(_FROM_17 if server_version >= 170_000 else {})}


@contextmanager
def set_by(
    source: Source, url: str, settings: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> Generator[str]:
    """Have new sessions begin with these settings; yield the URL with which they do."""
    if source == "environment":
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        monkeypatch.setenv("PGOPTIONS", options)
        monkeypatch.setenv("PGCLIENTENCODING", settings["client_encoding"])
        monkeypatch.setenv("PGDATESTYLE", settings["datestyle"])
        monkeypatch.setenv("PGTZ", settings["timezone"])
        yield url
    elif source == "role":
        with login(url, options="SUPERUSER") as name:
            _alter("role", name, url, settings)
            yield as_login(url, name)
    else:
        _alter("database", str(conninfo_to_dict(url)["dbname"]), url, settings)
        yield url


def _alter(kind: Source, name: str, url: str, settings: Mapping[str, str]) -> None:
    with psycopg.connect(url) as connection:
        for setting, value in settings.items():
            connection.execute(
                _ALTER[kind].format(
                    sql.Identifier(name), sql.Identifier(setting), sql.Literal(value)
                )
            )
