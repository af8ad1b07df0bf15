"""What a policy says about queues and tenants that a database does not have."""

from typing import TYPE_CHECKING, cast

from fairlead.inspection import formats
from fairlead.inspection.rows import ask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.db.connect import Connection
    from fairlead.policy import Policy

_LANES_MAX = 10_000
"""At most so many lanes are looked at; with more, no name is said to be nobody's."""


def unknown(connection: "Connection", policy: "Policy") -> tuple[str, ...]:
    """Return a sentence for each queue that no pool serves and each name that nobody has."""
    from fairlead.policy import KnownNames, find_unknown

    (found,) = ask(connection, "known_names", {"limit": _LANES_MAX})
    waiting, queues, tenants = (
        frozenset(cast("Sequence[str]", found[name]))
        for name in ("waiting", "queues", "tenants")
    )
    known = KnownNames(
        waiting, None if found["is_cut"] else queues, None if found["is_cut"] else tenants
    )
    return tuple(formats.printable(said) for said in find_unknown(policy, known))
