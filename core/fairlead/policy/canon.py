"""What a policy says, whatever its document looks like."""

import hashlib
import json

from fairlead.policy.models import Policy

_DIGEST_DIGITS = 12


def canonical(policy: Policy) -> str:
    """Return what the document gave as JSON: sorted, without comments, each value in one form.

    It is a policy document itself, of the same meaning. A field that was not given is left out,
    so that the text stays the same when later versions know more fields.
    """
    given = policy.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(given, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(policy: Policy) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of what the policy says."""
    return hash_of(canonical(policy).encode())


def hash_of(content: bytes) -> str:
    """Return the first 12 hexadecimal digits of the SHA-256 of a text, policy or not."""
    return hashlib.sha256(content).hexdigest()[:_DIGEST_DIGITS]
