"""Store and read versions of the policy, and read a policy from a file.

The newest version that the leader can read is in force. A version is never changed: to go back,
store an old document again.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from psycopg.rows import class_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.policy import DOCUMENT_BYTES_MAX, Policy, PolicyRefused, digest, hash_of, parse

_PACKAGE = "fairlead"


@dataclass(frozen=True, slots=True)
class Stored:
    """What storing a document did; `new` is false when the newest says the same."""

    version: int
    digest: str
    new: bool


def store(
    connection: Connection, document: str, *, author: str | None = None, reason: str = ""
) -> Stored:
    """Store a document as the newest version, and wake the scheduler.

    A document that says what the newest one says is not stored: a repeat changes nothing. A
    version that has its digest and says something else does not keep it from being stored.

    Args:
        connection: of a login with the role fairlead_admin, or of the schema's owner.
        document: the text as its author wrote it.
        author: who changes the policy, at most 128 bytes; None is the login.
        reason: why, at most 1 KiB.

    Raises:
        PolicyRefused: the document is not a valid policy. Nothing is stored but an event, which
            the caller's transaction may roll back.
        psycopg.Error: the database refused, such as an author that is too long.
    """
    try:
        named = digest(parse(document))
    except PolicyRefused as error:
        content = document.encode("utf-8", "surrogatepass")
        note_refusal(connection, hash_of(content), str(error), author=author)
        raise
    given = {"document": document, "digest": named, "author": author, "reason": reason}
    stored = _apply(connection, given)
    if not stored.new and not _says(connection, stored.version, named):
        # It was stored with the digest of another, which would keep that from being stored.
        _apply(connection, {**given, "digest": hash_of(f"{document}\n".encode())})
        stored = _apply(connection, given)
    return stored


def _apply(connection: Connection, given: Mapping[str, object]) -> Stored:
    with connection.cursor(row_factory=class_row(Stored)) as cursor:
        cursor.execute(statements.load(_PACKAGE, "apply_policy"), given)
        stored = cursor.fetchone()
    assert stored is not None
    return stored


def _says(connection: Connection, version: int, named: str) -> bool:
    """Whether a version's document has this digest, and not only its row."""
    found = numbered(connection, version)
    try:
        return found is not None and digest(parse(found.document)) == named
    except PolicyRefused:
        return False


def note_refusal(
    connection: Connection, document_hash: str, said: str, *, author: str | None = None
) -> None:
    """Note that a document was refused, so that the leader logs and counts it.

    A repeat makes its event the newest one; the last hundred documents are kept.

    Args:
        connection: of a login with the role fairlead_admin, or of the schema's owner.
        document_hash: as `fairlead.policy.hash_of` makes it.
        said: the sentence, of which 1,024 characters are kept.
        author: who wanted to store it, of which 128 are kept; None is the login.
    """
    given = {"hash": document_hash, "said": said, "author": author}
    connection.execute(statements.load(_PACKAGE, "refuse_policy"), given)


@dataclass(frozen=True, slots=True)
class Version:
    """A stored document, and who stored it when and why."""

    version: int
    digest: str
    author: str
    reason: str
    stored_at: datetime
    document: str


def in_force(connection: Connection) -> Version | None:
    """Return the version that the last leader reported to be in force.

    None: no leader has reported one, or a leader has refused that version since.
    """
    return _read(connection, "policy_in_force")


def followed(connection: Connection) -> Version | None:
    """Return the newest version that no leader has refused; None: there is none.

    It is the version in force, or a newer one that the leader will put in force when it next
    checks. An edit of the policy starts from it.
    """
    return _read(connection, "policy_followed")


def newest(connection: Connection) -> Version | None:
    """Return the version that was stored last; None: no policy was ever stored."""
    return _read(connection, "policy_version", {"version": None})


def numbered(connection: Connection, version: int) -> Version | None:
    """Return the version of this number; None: there is none."""
    return _read(connection, "policy_version", {"version": version})


def _read(
    connection: Connection, name: str, values: Mapping[str, object] | None = None
) -> Version | None:
    with connection.cursor(row_factory=class_row(Version)) as cursor:
        return cursor.execute(statements.load(_PACKAGE, name), values).fetchone()


STANDARD_INPUT = Path("-")


class DocumentRefused(PolicyRefused):
    """A file was read, and its content is not a valid policy.

    Args:
        name: The file's, with which the sentence begins.
        message: The rest of the sentence.
        content: What is in the file, or its first part where that is too long.
    """

    def __init__(self, name: str, message: str, content: bytes) -> None:
        super().__init__(f"{name}: {message}")
        self.message = message
        self.hash = hash_of(content)


def read(file: Path) -> tuple[str, Policy]:
    """Return the text of a file, or of standard input, and the policy that it is.

    Raises:
        DocumentRefused: its content is not a valid policy; the sentence begins with its name.
        PolicyRefused: it cannot be read.
    """
    name = "standard input" if file == STANDARD_INPUT else str(file)
    try:
        content = _content(file)
    except OSError as error:
        raise PolicyRefused(f"{name}: cannot be read: {error.strerror or error}") from None
    try:
        document = _decoded(content)
        return document, parse(document)
    except PolicyRefused as error:
        raise DocumentRefused(name, str(error), content) from None


def _content(file: Path) -> bytes:
    """Return what is in a file, or a little more of it than a policy may have."""
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
    with file.open("rb") as opened:
        return opened.read(DOCUMENT_BYTES_MAX + 1)


def _decoded(content: bytes) -> str:
    if len(content) > DOCUMENT_BYTES_MAX:
        bound = f"{DOCUMENT_BYTES_MAX:,}"
        raise PolicyRefused(f"the document has more than {bound} bytes: leave some out")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = error.start + 1
        raise PolicyRefused(f"byte {place} is not UTF-8: save it as UTF-8") from None
