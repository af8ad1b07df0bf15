"""Reading what the counts of pools' needs want to know, and publishing what they found.

It is done beside the back-pressure, in the same session: a count is bounded, and what is
published may wait for one.
"""

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import cast

from fairlead import sql
from fairlead.sql import integers
from fairlead.store import Connection
from fairlead_scheduler.calls import Requests, drain
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.demanded import (
    DUE_SPAN_SECONDS,
    WITHIN_SECONDS,
    PodSlots,
    PoolDemand,
    Seen,
    pod_slots,
)

_PACKAGE = __package__ or ""
_LOOK_SECONDS = 5.0
_REST_SECONDS = 60.0
_DUTY = 0.05
_DUE_MAX = 50_000


class Demands:
    """What one term reads and publishes for the autoscaler, over one session."""

    def __init__(self, connection: Connection, *, epoch: int, requests: Requests) -> None:
        self._connection = connection
        self._epoch = epoch
        self._requests = requests

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do; the loop says when to publish."""
        return (
            Chore("demand", inf, self.publish, at_once=False),
            Chore(
                "demand_look", _LOOK_SECONDS, self.look, _DUTY, at_once=False, rest=self._rest
            ),
        )

    def publish(self) -> bool:
        """Write each pool's newest needs over those before, unless another scheduler leads.

        Who waits for a pool's first job is notified. What cannot be written is not tried
        again: the next is newer. Pools that have no `autoscale` any more lose their rows.
        """
        found = [each for demands in drain(self._requests.demands) for each in demands]
        newest = {each.pool: each for each in found}
        pools = self._requests.demanded
        begins = {each.pool for each in found if each.begins and each.pool in pools}
        values = {
            "epoch": self._epoch,
            "pools": sorted(pools),
            "begins": sorted(begins),
            "rows": json.dumps(
                [_row(each) for _, each in sorted(newest.items()) if each.pool in pools]
            ),
        }
        self._connection.execute(sql.load(_PACKAGE, "publish_demand"), values)
        return False

    def look(self) -> bool:
        """Read what pods have, what falls due soon, and what lanes have."""
        if self._requests.demanded:
            self._requests.seen.put(Seen(self._slots(), self._lengths(), self._due()))
        return False

    def _rest(self, every_seconds: float) -> float:
        return every_seconds if self._requests.demanded else _REST_SECONDS

    def _slots(self) -> dict[str, int]:
        """Return what the youngest worker of each pool says, or the most that any has now."""
        rows = self._execute("pod_slots", {"pools": sorted(self._requests.demanded)})
        workers = [
            PodSlots(*row) for row in cast("Sequence[tuple[int, str, int | None, int]]", rows)
        ]
        return pod_slots(workers)

    def _lengths(self) -> dict[tuple[str, str], int]:
        lanes = self._requests.unread
        if not lanes:
            return {}
        values = {
            "queues": [queue for queue, _, _ in lanes],
            "tenants": [tenant for _, tenant, _ in lanes],
            "most": integers(most for _, _, most in lanes),
        }
        rows = self._execute("count_lanes", values)
        return {lanes[int(str(place)) - 1][:2]: int(str(jobs)) for place, jobs in rows}

    def _due(self) -> dict[str, dict[int, int]]:
        values = {
            "from_us": self._requests.promoted_us,
            "span_seconds": DUE_SPAN_SECONDS,
            "within_seconds": WITHIN_SECONDS[-1],
            "limit": _DUE_MAX,
        }
        found: dict[str, dict[int, int]] = {}
        for queue, span, jobs in self._execute("due_within", values):
            found.setdefault(str(queue), {})[int(str(span))] = int(str(jobs))
        return found

    def _execute(self, name: str, values: Mapping[str, object]) -> Sequence[tuple[object, ...]]:
        return self._connection.execute(sql.load(_PACKAGE, name), values).fetchall()


def _row(demand: PoolDemand) -> dict[str, object]:
    """Return a row as the statement reads it; the notification is no part of it."""
    row = demand._asdict()
    del row["begins"]
    return row
