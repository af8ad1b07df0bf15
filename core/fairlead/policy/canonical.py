"""The canonical text of a policy and its digest: equal for documents of equal meaning."""

import hashlib
import json

from fairlead.policy.models import Policy

_DIGEST_DIGITS = 12


def canonical_json(policy: Policy) -> str:
    """Return the document as JSON: sorted, without comments, each value in one form.

    The text is itself a policy document with the same meaning. Fields that were not given are
    left out, so that the text stays the same when later versions have more fields.
    """
    given = policy.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(given, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(policy: Policy) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of the canonical text."""
    return hash_of(canonical_json(policy).encode())


def hash_of(content: bytes) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of any text."""
    return hashlib.sha256(content).hexdigest()[:_DIGEST_DIGITS]
