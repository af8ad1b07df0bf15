"""Watch a policy's file and store it at every save: `fairlead dev --policy FILE`."""

from pathlib import Path

import psycopg

from fairlead.db.connect import Unreachable, connect
from fairlead.policy import PolicyRefused, find_warnings
from fairlead.policy_storage import DocumentRefused, note_refusal, read, store
from fairlead.settings import DatabaseSettings
from fairlead_cli.dev.fleet import Say

_AUTHOR = "fairlead dev"


class PolicyFile:
    """Keeps what a file says in force.

    Args:
        file: the policy; it may be replaced, emptied and gone for a while.
        url: the database.
        say: where it says what became of a save.

    """

    def __init__(self, file: Path, url: str, say: Say) -> None:
        self._file = file
        self._settings = DatabaseSettings(database_url=url, database_url_file=None)
        self._say = say
        self._seen = _signature(file)
        self._is_due = True
        self._unreachable = False

    def look(self) -> None:
        """Store the file if it was saved and has rested since the last look.

        An editor that writes a file in place has it half written for a moment, and half a
        policy may be one. A file that is refused changes nothing, and neither does one that
        says the same. While the database is away it is tried again at every look.
        """
        seen = _signature(self._file)
        if seen != self._seen:
            self._seen, self._is_due = seen, True
        elif self._is_due:
            self._is_due = not self._stored()

    def _stored(self) -> bool:
        """Store the file, and tell whether there is nothing left to do."""
        try:
            sentences = self._store()
        except (Unreachable, psycopg.OperationalError):
            if not self._unreachable:
                self._say("policy", "the database does not answer: trying again")
            self._unreachable = True
            return False
        for said in sentences:
            self._say("policy", said)
        self._unreachable = False
        return True

    def _store(self) -> tuple[str, ...]:
        """Store the file, or note that it is refused; returns what to say."""
        try:
            document, found = read(self._file)
        except PolicyRefused as error:
            if isinstance(error, DocumentRefused):
                with connect(self._settings, name="dev policy") as connection:
                    note_refusal(connection, error.hash, error.message, author=_AUTHOR)
            return (f"refused, what was in force stays: {error}",)
        with connect(self._settings, name="dev policy") as connection:
            stored = store(
                connection, document, author=_AUTHOR, reason=f"{self._file.name} was saved"
            )
        done = "stored as" if stored.new else "says the same as"
        said = f"{done} version {stored.version}, digest {stored.digest}"
        return (said, *(f"warning: {each}" for each in find_warnings(found)))


def _signature(file: Path) -> tuple[int, int, int] | None:
    """Return what changes when a file is saved; None while there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
