"""Read the inputs of the demand counts, and publish the pools' demand for the autoscaler.

It shares a session with the backlog counts: a count is bounded, and publishing may wait for it.
"""

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import cast

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead_scheduler.demand.values import (
    DUE_SPAN_SECONDS,
    WITHIN_SECONDS,
    DemandInputs,
    PodSlots,
    PoolDemand,
    pod_slots,
)
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.requests import Requests, take_all

_PACKAGE = __package__ or ""
_ADMISSION = "fairlead_scheduler.admission"
_READ_SECONDS = 5.0
_REST_SECONDS = 60.0
_DUTY = 0.05
_DUE_MAX = 50_000


class DemandStore:
    """The reads and writes of one term for the autoscaler, over one session."""

    def __init__(self, connection: Connection, *, epoch: int, requests: Requests) -> None:
        self._connection = connection
        self._epoch = epoch
        self._requests = requests

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the tasks; the loop requests when to publish."""
        return (
            PeriodicTask("demand", inf, self.publish, at_once=False),
            PeriodicTask(
                "demand_inputs",
                _READ_SECONDS,
                self.read_inputs,
                _DUTY,
                at_once=False,
                rest=self._rest,
            ),
        )

    def publish(self) -> bool:
        """Replace each pool's published demand by its newest, unless another scheduler leads.

        Pools in which jobs begin to wait are notified. A failed write is not retried: the next
        demand is newer. Pools without `autoscale` lose their rows.
        """
        found = [each for demands in take_all(self._requests.demands) for each in demands]
        newest = {each.pool: each for each in found}
        pools = self._requests.demand_pools
        begins = {each.pool for each in found if each.begins and each.pool in pools}
        values = {
            "epoch": self._epoch,
            "pools": sorted(pools),
            "begins": sorted(begins),
            "rows": json.dumps(
                [_row(each) for _, each in sorted(newest.items()) if each.pool in pools]
            ),
        }
        self._connection.execute(statements.load(_PACKAGE, "publish_demand"), values)
        return False

    def read_inputs(self) -> bool:
        """Read the slots of pods, the lengths of lanes, and what falls due soon."""
        if self._requests.demand_pools:
            self._requests.demand_inputs.put(
                DemandInputs(self._slots(), self._lengths(), self._due())
            )
        return False

    def _rest(self, every_seconds: float) -> float:
        return every_seconds if self._requests.demand_pools else _REST_SECONDS

    def _slots(self) -> dict[str, int]:
        """Return each pool's slots per pod, by its newest worker or the most of any."""
        rows = self._execute("pod_slots", {"pools": sorted(self._requests.demand_pools)})
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
        rows = self._execute("count_lanes", values, package=_ADMISSION)
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

    def _execute(
        self, name: str, values: Mapping[str, object], *, package: str = _PACKAGE
    ) -> Sequence[tuple[object, ...]]:
        return self._connection.execute(statements.load(package, name), values).fetchall()


def _row(demand: PoolDemand) -> dict[str, object]:
    """Return a row as the statement reads it, without `begins`, which only notifies."""
    row = demand._asdict()
    del row["begins"]
    return row
