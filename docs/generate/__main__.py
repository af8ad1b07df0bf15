"""Regenerate every generated file, from the code and from a freshly migrated database."""

import tempfile
from pathlib import Path

import psycopg

from docs.generate import (
    alerts,
    api,
    chaos,
    chart,
    cli,
    fail_overs,
    metrics,
    performance,
    policy,
    reasons,
    rights,
    schema,
    settings,
    sql,
)
from fairlead.db.migrate import migrate
from fairlead_cli.dev.account import state_dir
from fairlead_cli.dev.binaries import binaries
from fairlead_cli.dev.postgres import Server

ROOT = Path(__file__).parents[2]


def main() -> None:
    """Start a temporary server, migrate it, and write every generated file."""
    with tempfile.TemporaryDirectory(dir=state_dir()) as folder:
        Path(folder).chmod(
            0o755
        )  # run by root, the server has another user, which must read it
        with Server(Path(folder) / "pg", bin_dir=binaries(schema.MAJOR)) as server:
            with psycopg.connect(server.url, autocommit=True) as connection:
                migrate(connection)
            write(schema.PATH, schema.dump(server.url))
            write(sql.PATH, sql.render(server.url))
            write(rights.PATH, rights.render(server.url))
    write(cli.PATH, cli.render())
    write(policy.PATH, policy.render())
    write(policy.SCHEMA_PATH, policy.render_schema())
    write(settings.PATH, settings.render())
    write(reasons.PATH, reasons.render())
    write(metrics.PATH, metrics.render())
    write(performance.PATH, performance.render())
    write(chaos.PATH, chaos.render())
    write(fail_overs.PATH, fail_overs.render())
    write(alerts.PATH, alerts.render())
    write(alerts.PAGE_PATH, alerts.page())
    for path in api.PATHS:
        write(path, api.render(path))
    for path, text in chart.rendered().items():
        write(path, text)


def write(path: Path, text: str) -> None:
    """Write one file of the repository."""
    target = ROOT / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
