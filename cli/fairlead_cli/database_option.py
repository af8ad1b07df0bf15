"""`--database-url`, which may stand anywhere in a command: before its name or behind it."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from fairlead_cli.errors import CommandError

OPTION = "--database-url"
HELP = "Where the database is, without a password. May stand behind a command, too."
_URL = "FAIRLEAD_DATABASE_URL"
_FILE = "FAIRLEAD_DATABASE_URL_FILE"


@contextmanager
def taken(arguments: Sequence[str]) -> Generator[list[str]]:
    """Yield the other arguments, and let the option be the setting meanwhile.

    What stands behind `--` is a command's own.

    Raises:
        CommandError: it has no value, or one with a password, which other users would see.
    """
    others, url = _parted(arguments)
    if url is None:
        yield others
        return
    _refuse_password(url)
    former = {name: os.environ.pop(name, None) for name in (_URL, _FILE)}
    os.environ[_URL] = url
    try:
        yield others
    finally:
        del os.environ[_URL]
        os.environ.update({name: value for name, value in former.items() if value is not None})


def _parted(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the arguments without the option, and its last value."""
    others: list[str] = []
    url: str | None = None
    words = iter(arguments)
    for word in words:
        name, given, value = word.partition("=")
        if word == "--":
            others += [word, *words]
        elif name != OPTION:
            others.append(word)
        else:
            url = value if given else next(words, "")
            if not url:
                raise CommandError(f"{OPTION} has no value: give postgresql://HOST/DATABASE")
    return others, url


def _refuse_password(url: str) -> None:
    # Slow to import.
    from fairlead.db.conninfo import find_error, has_password

    if find_error(url) is None and has_password(url):
        raise CommandError(
            f"{OPTION} holds a password, and every user of this machine can see it there: put "
            f"the URL into a file and name that in {_FILE}"
        )
