"""Write the schema as one file: the result of all migrations.

People read it to see the whole. A test compares it with a fresh database, so that an edit of
an old migration, or of this file alone, is noticed.
"""

import re
import subprocess
from pathlib import Path

from fairlead_cli.dev.binaries import binaries

PATH = Path("core/fairlead/db/schema.sql")
"""The file's path in the repository."""

MAJOR = 18
"""The PostgreSQL whose pg_dump writes the file; others print the same schema differently."""

_HEAD = (
    "-- What all migrations amount to. Written by `python -m docs.generate`, with pg_dump.\n"
)
_NOISE = re.compile(
    r"^(?:--.*|SET .*;|SELECT pg_catalog\.set_config.*|\\(?:un)?restrict.*)$", re.MULTILINE
)
_DAYS = "fairlead.job_history_*_2*"


def dump(url: str) -> str:
    """Return the schema of a migrated database, without its daily partitions."""
    command = [
        str(binaries(MAJOR) / "pg_dump"),
        "--schema-only",
        "--no-owner",
        "--schema=fairlead",
        f"--exclude-table={_DAYS}",
        url,
    ]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return _HEAD + re.sub(r"\n{3,}", "\n\n", _NOISE.sub("", said)).rstrip() + "\n"


def objects(dumped: str) -> dict[str, str]:
    """Return each statement of a dump by its first line, which names it in a difference."""
    statements = re.split(r"\n\n(?=[A-Z])", dumped.removeprefix(_HEAD).strip())
    return {statement.splitlines()[0]: statement for statement in statements}
