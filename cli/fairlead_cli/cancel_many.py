"""Cancel many jobs in batches, each a transaction of its own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead_cli.session import Row, acting, ask

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

_BATCH = 1000


@dataclass(slots=True)
class Cancelled:
    """How many jobs ended, were asked to stop, or were locked by another transaction."""

    ended: int = 0
    requested: int = 0
    locked: int = 0


def cancel_many(
    connection: "Connection",
    alike: Row,
    *,
    limit: int,
    actor: str | None,
    reason: str,
) -> Cancelled:
    """Cancel unfinished jobs, oldest id first. A crash leaves whole batches; a repeat goes on.

    Args:
        connection: of this command.
        alike: queue, tenant and kind of the jobs, each None for any; one at least is named.
        limit: at most so many jobs.
        actor: who does it, for the audit log.
        reason: why.
    """
    done = Cancelled()
    after_id: object = 0
    while after_id is not None and done.ended + done.requested < limit:
        left = limit - done.ended - done.requested
        batch = {**alike, "after_id": after_id, "limit": min(_BATCH, left)}
        with acting(connection, actor, reason):
            (step,) = ask(connection, "cancel_jobs", batch)
        done.ended += int(str(step["ended"]))
        done.requested += int(str(step["requested"]))
        done.locked += int(str(step["locked"]))
        after_id = step["reached_id"]
    return done
