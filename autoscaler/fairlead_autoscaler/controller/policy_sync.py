"""Store the policy of two ConfigMaps in the database: one of them is effective, as a whole.

The one that people edit is effective once it is not empty, else the one that the chart
rendered. A bad document changes nothing: it is refused with one sentence, which is reported
until a good one comes, and the policy stored last stays in force. The scheduler reads stored
versions only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fairlead.policy import PolicyRefused, parse
from fairlead.runtime import log
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.kube.port import Document, Documents

_log = log.get("autoscaler.policy")
OTHERS = "*"
"""Names every pool in the bounds that is not named itself."""
_AUTHOR_BYTES_MAX = 128


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
    author: str = ""
    """As `author_of` says it."""


def effective(documents: Documents) -> Document | None:
    """Return the effective document; None: neither ConfigMap holds one."""
    for each in (documents.live, documents.values):
        if each is not None and each.text.strip():
            return each
    return None


def is_known(former: SyncedDocument, document: Document) -> bool:
    """Return whether a document was handled already."""
    return (former.name, former.version) == (document.name, document.version)


def author_of(document: Document) -> str:
    """Return who wrote a document: its ConfigMap, the program and, where noted, the person."""
    parts = [f"configmap {document.name}"]
    if document.writers:
        parts.append(f"by {document.writers[0]}")
    if document.author:
        parts.append(f"for {document.author}")
    cut = " ".join(parts).encode()[:_AUTHOR_BYTES_MAX]
    return cut.decode(errors="ignore")


def beyond(text: str, bounds: Mapping[str, int]) -> str | None:
    """Return why a document that people edit is refused; None: it keeps to the bounds.

    Args:
        text: The document; one that cannot be read is refused elsewhere.
        bounds: The most pods that a pool may ask for, by pool, or by `OTHERS`.
    """
    try:
        pools = parse(text).pools
    except PolicyRefused:
        return None
    for place, pool in enumerate(pools):
        most = bounds.get(pool.name, bounds.get(OTHERS))
        if pool.autoscale is not None and most is not None and pool.autoscale.max > most:
            return (
                f"pools[{place}].autoscale.max: {pool.autoscale.max} pods of '{pool.name}' are "
                f"more than the {most} that policy.liveMax of the release's values allows"
            )
    return None


def places(
    documents: Documents, synced: SyncedDocument, *, newest_digest: str | None
) -> tuple[str, ...]:
    """Return a sentence for each further place that writes the policy, if there is any.

    Args:
        documents: What the ConfigMaps hold.
        synced: The document handled last.
        newest_digest: Of the newest version in the database; None: there is none.
    """
    found: list[str] = []
    live, values = documents.live, documents.values
    if live and values and live.text.strip() and values.text.strip():
        found.append(
            f"{live.name} replaces what the values say as a whole: a change of the values has "
            f"no effect until {live.name} is empty"
        )
    document = effective(documents)
    if document is not None and len(document.writers) > 1:
        names = " and ".join(document.writers)
        found.append(f"{names} both write {document.name}: let one of them alone do it")
    handled = synced.refused is None and synced.digest
    if handled and newest_digest not in {None, synced.digest}:
        found.append(
            "the newest version in the database is not the ConfigMap's: it was stored there, "
            "and counts until the ConfigMap changes"
        )
    return tuple(found)


def sync(
    former: SyncedDocument,
    document: Document,
    database: Database,
    *,
    epoch: int,
    refused: str | None = None,
) -> SyncedDocument:
    """Store a document that is new, or log why it is refused; the same again changes nothing.

    A crash after the store loses nothing: the next controller stores it again.

    Args:
        former: The document handled last.
        document: The effective one.
        database: Where it is stored.
        epoch: Of this controller's term.
        refused: Why it is not to be stored, as `beyond` says it; None: it is.

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
        author=author_of(document),
    )
    stored = database.store_policy(
        document.text,
        author=seen.author,
        reason=f"resourceVersion {document.version}",
        epoch=epoch,
        refused=refused,
    )
    if isinstance(stored, PolicyRefused):
        _log.warning("policy.refused", configmap=document.name, reason=str(stored))
        return replace(seen, refused=str(stored))
    if stored.new:
        about = {"version": stored.version, "digest": stored.digest}
        _log.info("policy.stored", configmap=document.name, **about)
    return replace(seen, digest=stored.digest)
