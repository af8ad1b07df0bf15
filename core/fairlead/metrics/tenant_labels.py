"""Labels in place of tenants' names, for a metrics page whose readers must not know them.

A tenant has the same label in every replica and after every restart, so that its series go on.
The key is made from the server's identifier, which only those can read that can log in there.
"""

import hashlib
import hmac

HEX_DIGITS = 12
_KEY_ROUNDS = 200_000
"""A tenth of a second, once: identifiers can be guessed, and each guess costs as much."""


def key_of(server_identifier: str) -> bytes:
    """Return the key of the labels of a server's tenants."""
    return hashlib.pbkdf2_hmac(
        "sha256", server_identifier.encode(), b"fairlead tenants", _KEY_ROUNDS
    )


def label(key: bytes, tenant: str) -> str:
    """Return the label of a tenant; jobs without one keep the empty label."""
    if not tenant:
        return tenant
    return hmac.digest(key, tenant.encode(), "sha256").hex()[:HEX_DIGITS]
