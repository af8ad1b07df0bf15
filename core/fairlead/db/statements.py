"""Load statements: one statement is one file in its room's `sql` folder.

The header comments (purpose, locks, index) are for readers and tests; the text that is sent has
only the statement's name, so that `pg_stat_activity` shows which one runs.
"""

from collections.abc import Iterable
from functools import cache
from importlib import resources


@cache
def load(package: str, name: str) -> bytes:
    """Return the statement `name` of `package`, as bytes that psycopg sends as they are.

    Raises:
        FileNotFoundError: there is no such statement: a mistake in the program.
    """
    text = resources.files(package).joinpath("sql", f"{name}.sql").read_text("utf-8")
    lines = [line.rstrip() for line in text.splitlines() if not line.lstrip().startswith("--")]
    return f"/* {package}: {name} */\n{chr(10).join(lines).strip()}".encode()


def load_all(package: str) -> None:
    """Load every statement of a package now: later the process may open no file any more."""
    for each in resources.files(package).joinpath("sql").iterdir():
        load(package, each.name.removesuffix(".sql"))


def integers(values: Iterable[int | None]) -> str:
    """Return an array literal, ten times as fast as psycopg's list dumper.

    The fastest way to format many integers is a list's own text.
    """
    return "{" + repr(list(values))[1:-1].replace("None", "NULL") + "}"
