"""Storing a policy for a person: by the operator's login, where it is an administrator's too.

An operator may not store a policy, whatever the console believes: the database says so. So the
transaction acts as `fairlead_admin`, of which the login has to be a member.
"""

from typing import Final

from fairlead import policy_storage
from fairlead.db.connect import Address, Connection, connect
from fairlead.inspection import policy_source
from fairlead_console.reads import records
from fairlead_console.reads.acts import SETTINGS
from fairlead_console.reads.moments import ask

ROLE: Final = "fairlead_admin"
_AUTHOR_BYTES_MAX = 128


class NotStored(Exception):
    """Nothing was stored; the message is one sentence for people."""


class Superseded(NotStored):
    """Another version was stored meanwhile."""


def may_store(address: Address) -> bool:
    """Tell whether the login of those who act may store a policy.

    Raises:
        Unreachable: with one sentence that says why.
    """
    session = connect(address, name="console", more=SETTINGS)
    try:
        (row,) = ask(session, "may_store_policy", {"role": ROLE})
    finally:
        session.close()
    return bool(row["may"])


def store(
    address: Address, document: str, *, base: int, release: str, actor: str, reason: str
) -> policy_storage.Stored:
    """Store a document over the version that its author has seen.

    Args:
        address: Where the database is, with the login of those who act.
        document: A policy.
        base: The newest version that the author knows; 0: none was stored.
        release: For whom; the policy of another release stays.
        actor: Who it is, for the version and the audit log.
        reason: Why.

    Raises:
        Superseded: a newer version is there. Nothing is stored.
        NotStored: the policy is not this console's to store, with the reason.
        Unreachable: with one sentence that says why.
        psycopg.Error: the database refused it.
    """
    session = connect(address, name="console", more={**SETTINGS, "role": ROLE})
    try:
        with session.transaction():
            ask(session, "act_as", {"actor": actor, "reason": reason})
            if said := policy_source.storing_refusal(session, release):
                raise NotStored(said)
            author = actor.encode()[:_AUTHOR_BYTES_MAX].decode(errors="ignore")
            stored = policy_storage.store(session, document, author=author, reason=reason)
            # From here on nobody else stores one, until this is committed or undone.
            if stored.new and _before(session, stored.version) != base:
                raise Superseded
            return stored
    finally:
        session.close()


def _before(session: Connection, version: int) -> int:
    found = records.policies(session, version, 1)
    return int(str(found[0]["version"])) if found else 0
