"""Store the policy of two ConfigMaps in the database: one of them is effective, as a whole.

The one that people edit is effective once it is not empty, else the one that the chart
rendered. A bad document changes nothing: it is refused with one sentence, which is reported
until a good one comes, and the policy stored last stays in force. The scheduler reads stored
versions only.
"""

from dataclasses import dataclass, replace

from fairlead.policy import PolicyRefused
from fairlead.runtime import log
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.kube.port import Document, Documents

_log = log.get("autoscaler.policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedDocument:
    """The document handled last, and the outcome."""

    name: str = ""
    uid: str = ""
    """Its ConfigMap's UID."""
    version: str = ""
    digest: str = ""
    refused: str | None = None
    """Why it is not in force; None: it is, or there is none."""


def effective(documents: Documents) -> Document | None:
    """Return the effective document; None: neither ConfigMap holds one."""
    for each in (documents.live, documents.values):
        if each is not None and each.text.strip():
            return each
    return None


def is_known(former: SyncedDocument, document: Document) -> bool:
    """Return whether a document was handled already."""
    return (former.name, former.version) == (document.name, document.version)


def sync(
    former: SyncedDocument, document: Document, database: Database, *, epoch: int
) -> SyncedDocument:
    """Store a document that is new, or log why it is refused; the same again changes nothing.

    A crash after the store loses nothing; the next controller stores it again, which changes
    nothing.

    Raises:
        Unreachable: the database does not answer; try again later.
        Deposed: another controller leads, and this document may be an old one.
    """
    if is_known(former, document):
        return former
    seen = SyncedDocument(
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
