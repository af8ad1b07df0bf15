"""Change many jobs in batches, each a transaction of its own."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from fairlead.inspection.formats import ID_MAX
from fairlead.inspection.rows import Row
from fairlead_cli.session import acting, ask

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

_BATCH = 1000


class Who(NamedTuple):
    """Who does it and why, for the audit log."""

    actor: str | None
    reason: str


def in_batches(
    connection: "Connection",
    statement: str,
    asked: Mapping[str, object],
    who: Who,
    *,
    limit: int = ID_MAX,
) -> Counter[str]:
    """Repeat a statement, oldest job first, and return the sums of the counts it answers.

    A crash leaves whole batches; a repeat goes on with the rest.

    Args:
        connection: of this command.
        statement: goes on behind a place, `after_...`, and answers the next one, whose
            `after_id` is null at the end; and counts of jobs, `locked` and `running` of those
            that it left.
        asked: its parameters, and the place to begin behind where that is not the start.
        who: does it.
        limit: change at most so many jobs.
    """
    done: Counter[str] = Counter()
    batch: Row = {"after_id": 0, **asked}
    while batch["after_id"] is not None:
        left = limit - done.total() + done["locked"] + done["running"]
        if left <= 0:
            break
        with acting(connection, *who):
            (step,) = ask(connection, statement, {**batch, "limit": min(_BATCH, left)})
        batch |= {name: step.pop(name) for name in tuple(step) if name.startswith("after_")}
        done.update({name: int(str(count)) for name, count in step.items()})
    return done
