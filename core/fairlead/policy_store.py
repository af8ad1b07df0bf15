"""Store a version of the policy in the database; `policy_versions` reads them.

The newest that the leader can read is in force. A version is never changed: to go back is to
store an old document again.
"""

from dataclasses import dataclass

from psycopg.rows import class_row

from fairlead import sql
from fairlead.policy import PolicyRefused, digest, hash_of, parse
from fairlead.store import Connection

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

    A document that says what the newest one says is not stored: a repeat changes nothing.

    Args:
        connection: of a login with the role fairlead_admin, or of the schema's owner.
        document: the text as its author wrote it.
        author: who changes the policy, at most 128 bytes; None is the login.
        reason: why, at most 1 KiB.

    Raises:
        PolicyRefused: it is no policy; nothing is stored, and an event says so. That is undone
            with the caller's transaction.
        psycopg.Error: the database refused, such as an author that is too long.
    """
    try:
        named = digest(parse(document))
    except PolicyRefused as error:
        content = document.encode("utf-8", "surrogatepass")
        note_refusal(connection, hash_of(content), str(error), author=author)
        raise
    given = {"document": document, "digest": named, "author": author, "reason": reason}
    with connection.cursor(row_factory=class_row(Stored)) as cursor:
        cursor.execute(sql.load(_PACKAGE, "apply_policy"), given)
        stored = cursor.fetchone()
    assert stored is not None
    return stored


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
    connection.execute(sql.load(_PACKAGE, "refuse_policy"), given)
