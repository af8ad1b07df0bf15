"""Which release owns a database and its pools, so that none replaces another's policy.

A release is a Helm release, `namespace/name`, or whatever a fleet without Kubernetes is called
in `FAIRLEAD_RELEASE`. The first one with a name owns the database; only its processes may lead.
Workers of other releases may serve pools of their own.
"""

from fairlead.db import statements
from fairlead.db.connect import Connection

_PACKAGE = "fairlead"


def owner_of(connection: Connection) -> str:
    """Return the release that owns the database; empty: none does."""
    return _name(connection, "owner", {})


def own(connection: Connection, release: str) -> str:
    """Make a release the owner of the database if it has none; return the owner.

    Without a name nothing is changed. Empty: there is no owner. An autoscaler may not do this.
    """
    return _name(connection, "own", {"release": release})


def take_over(connection: Connection, release: str) -> str:
    """Make a release the owner, with all pools of the former one, which is returned.

    What the former owner's leaders still write changes nothing. A repeat changes nothing.

    Args:
        connection: of a login with the role fairlead_admin, or of the schema's owner.
        release: a name.
    """
    return _name(connection, "take_over", {"release": release})


def own_pool(connection: Connection, pool: str, release: str) -> str | None:
    """Make a release the owner of a pool if it has none; return the owner.

    Empty: nobody owns it, and this login's release may not, since others' logins are bound to
    the pool, or has no name. None: another session has the pool and does not commit.
    """
    statement = statements.load(_PACKAGE, "own_pool")
    row = connection.execute(statement, {"pool": pool, "release": release}).fetchone()
    return None if row is None or row[0] is None else str(row[0])


def refusal(owner: str, release: str) -> str:
    """Return why another release than the owner is refused, and what to do."""
    return (
        f"the database belongs to the release {owner}, and this is {_called(owner, release)}: "
        "give it a database of its own, or move the database to it with `fairlead migrate "
        "--take-over` (chart: migrations.takeOver=true); to share it, see docs/how-to/"
        "share-a-database.md"
    )


def policy_refusal(owner: str, release: str) -> str:
    """Return why a command of another release than the owner stores no policy."""
    return (
        f"the policy is that of the release {owner}, which owns the database, and this command "
        f"is for {release or 'a release without a name'}: nothing is stored; to replace the "
        f"policy of {owner}, give --release {owner} or set FAIRLEAD_RELEASE={owner}"
    )


def unowned(release: str) -> str:
    """Return why a service that may not own a database waits for one that has no owner."""
    return (
        f"the database belongs to no release: a scheduler of {release} or `fairlead migrate "
        f"--release {release}` makes it {release}'s"
    )


def pool_refusal(pool: str, owner: str, release: str) -> str:
    """Return why a worker of another release than the pool's owner is refused.

    Without an owner: why one whose release may not become it is.
    """
    new = release or "NAME"
    if not owner:
        return (
            f"the pool {pool} belongs to no release, and other logins are bound to it: a "
            "worker of theirs makes its release the owner, or `fairlead workers assign "
            f"{pool} {new}` does"
        )
    return (
        f"the pool {pool} belongs to the release {owner}, and this worker is of "
        f"{_called(owner, release)}: give its pool another name, or move the pool to it with "
        f"`fairlead workers assign {pool} {new}`"
    )


def _called(owner: str, release: str) -> str:
    return release or f"one without a name (set FAIRLEAD_RELEASE={owner} if it is the same)"


def _name(connection: Connection, statement: str, values: dict[str, object]) -> str:
    row = connection.execute(statements.load(_PACKAGE, statement), values).fetchone()
    return str(row[0]) if row is not None and row[0] is not None else ""
