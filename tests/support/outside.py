"""A PostgreSQL of this machine for a release on a cluster, with a login for each program."""

import secrets
from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support import cluster
from tests.support.cluster import Release
from tests.support.databases import fast_folder, running_server

PASSWORD = secrets.token_hex(12)
"""Of every login, at first."""

PROGRAMS = ("scheduler", "worker", "autoscaler", "enqueue")
LOGINS = ("owner", *PROGRAMS)
"""Each is `app_` and this: the schema's owner, and one for each program."""


@contextmanager
def reachable() -> Generator[Server]:
    """Yield a server that pods reach at this machine's address, with a login per program."""
    listening = {"listen_addresses": f"127.0.0.1,{cluster.NODE_ADDRESS}"}
    with running_server(listening, within=fast_folder()) as running:
        with (running.data_dir / "pg_hba.conf").open("a") as rules:
            rules.write("host all all all scram-sha-256\n")
        with psycopg.connect(running.url, autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
            for role in (*PROGRAMS, "admin"):
                group = sql.Identifier(f"fairlead_{role}")
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(group))
            for login in LOGINS:
                _make_login(connection, login)
            connection.execute("ALTER DATABASE fairlead OWNER TO app_owner")
        yield running


def _make_login(connection: Connection[TupleRow], login: str) -> None:
    group = "fairlead_scheduler" if login == "owner" else f"fairlead_{login}"
    connection.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}").format(
            sql.Identifier(f"app_{login}"), sql.Literal(PASSWORD), sql.Identifier(group)
        )
    )


def urls(place: str, password: str, *, database: str = "fairlead") -> dict[str, str]:
    """Return each program's URL as the Secret has it.

    Args:
        place: Where a pod finds the server, as `host:port`.
        password: That of every login; empty: the URLs have none.
        database: Its name.
    """
    of = f":{password}" if password else ""
    return {login: f"postgresql://app_{login}{of}@{place}/{database}" for login in LOGINS}


def place_of(server: Server) -> str:
    """Return where pods find the server, as `host:port`."""
    return f"{cluster.NODE_ADDRESS}:{server.port}"


def write_secret(release: Release, contents: dict[str, str], *, name: str = "database") -> None:
    """Make or change a Secret with the programs' URLs."""
    literals = [f"--from-literal={key}={url}" for key, url in contents.items()]
    words = ("create", "secret", "generic", name, "--dry-run=client", "--output=yaml")
    release.kubectl("apply", "--filename=-", given=release.kubectl(*words, *literals))
