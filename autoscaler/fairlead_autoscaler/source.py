"""The policy's way from two ConfigMaps into the database: one of them counts, whole.

What people edit counts once it is not empty, else what the chart rendered. A bad document
changes nothing: it is refused with one sentence, which is said until a good one comes, and what
was stored last stays in force. The scheduler reads versions, and asks nobody else.
"""

from dataclasses import dataclass, replace

from fairlead import log
from fairlead.policy import PolicyRefused
from fairlead_autoscaler.database import Database
from fairlead_autoscaler.kube.port import Document, Documents

_log = log.get("autoscaler.policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Which document was dealt with last, and what came of it."""

    name: str = ""
    uid: str = ""
    """Of its ConfigMap."""
    version: str = ""
    digest: str = ""
    refused: str | None = None
    """Why it is not in force; None: it is, or there is none."""


def counting(documents: Documents) -> Document | None:
    """Return the document that counts; None: neither ConfigMap holds one."""
    for each in (documents.live, documents.values):
        if each is not None and each.text.strip():
            return each
    return None


def is_known(former: Followed, document: Document) -> bool:
    """Tell whether a document was dealt with already."""
    return (former.name, former.version) == (document.name, document.version)


def follow(former: Followed, document: Document, database: Database, *, epoch: int) -> Followed:
    """Store a document that is new, or say why it is refused; the same again changes nothing.

    A crash between the two leaves what was stored; the next controller stores it once more,
    which changes nothing.

    Raises:
        Unreachable: the database does not answer; it is to be tried again.
        Deposed: another controller leads, and this document may be an old one.
    """
    if is_known(former, document):
        return former
    seen = Followed(
        name=document.name,
        uid=document.uid,
        version=document.version,
        digest=former.digest,
    )
    stored = database.store_policy(
        document.text,
        author=f"configmap {document.name}"[:128],
        reason=f"resourceVersion {document.version}",
        epoch=epoch,
    )
    if isinstance(stored, PolicyRefused):
        _log.warning("policy.refused", configmap=document.name, reason=str(stored))
        return replace(seen, refused=str(stored))
    if stored.new:
        _log.info(
            "policy.stored",
            configmap=document.name,
            version=stored.version,
            digest=stored.digest,
        )
    return replace(seen, digest=stored.digest)
