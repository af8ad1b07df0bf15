"""The policy's way from two ConfigMaps into the database: one of them counts, whole.

What people edit counts once it is not empty, else what the chart rendered. A bad document
changes nothing: it is refused with one sentence, which is said until a good one comes, and what
was stored last stays in force. The scheduler reads versions, and asks nobody else.
"""

from dataclasses import dataclass, replace

import psycopg

from fairlead import log, policy_store
from fairlead.policy import PolicyRefused
from fairlead.store import Connection, Unreachable
from fairlead_autoscaler.kube.port import Document, Documents

_log = log.get("autoscaler.policy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """Which document was dealt with last, and what came of it."""

    name: str = ""
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


def follow(former: Followed, document: Document, connection: Connection) -> Followed:
    """Store a document that is new, or say why it is refused; the same again changes nothing.

    A crash between the two leaves what was stored; the next controller stores it once more,
    which changes nothing.

    Raises:
        Unreachable: the database does not answer; it is to be tried again.
    """
    if (former.name, former.version) == (document.name, document.version):
        return former
    author = f"configmap {document.name}"
    seen = Followed(name=document.name, version=document.version, digest=former.digest)
    try:
        stored = policy_store.store(
            connection,
            document.text,
            author=author[:128],
            reason=f"resourceVersion {document.version}",
        )
    except PolicyRefused as error:
        _log.warning("policy.refused", configmap=document.name, reason=str(error))
        return replace(seen, refused=str(error))
    except psycopg.Error as error:
        raise Unreachable(" ".join(str(error).split())) from None
    if stored.new:
        _log.info(
            "policy.stored",
            configmap=document.name,
            version=stored.version,
            digest=stored.digest,
        )
    return replace(seen, digest=stored.digest)
