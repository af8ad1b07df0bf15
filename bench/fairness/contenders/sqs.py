"""The documented rules of Amazon SQS fair queues, as a reference policy.

Source: Amazon SQS Developer Guide, "How Amazon SQS fair queues work". A tenant is noisy with
more than a tenth of all messages in flight and at least thirty of its own, or with more than a
tenth of the recent processing time. Quiet tenants' messages go first; among noisy ones, those
of the tenant with the fewest in flight. A tenant is quiet again when its backlog is gone, or
when it has sent nothing for five minutes.

Not documented, and chosen here: what *recent* is (half of it is of the last thirty seconds),
and that the service notices at once, which the guide does not promise.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count

from bench.fairness.traffic.weights import Weights
from fairlead_scheduler.simulation.interface import DispatchedRow, JobEvent
from fairlead_scheduler.simulation.trace import Arrival, Lane

_SHARE = 0.1
_IN_FLIGHT_LOWEST = 30
_SILENCE_US = 300_000_000
_HALF_LIFE_US = 30_000_000
_RESCALE = 2.0**64


class _Tenant:
    __slots__ = ("in_flight", "noisy", "sent_us", "used", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[int] = deque()
        self.in_flight = 0
        self.noisy = False
        self.sent_us = 0
        self.used = 0.0
        """Processing time with exponential decay: it halves every half-life."""


class SqsRules:
    """Amazon SQS fair queues, by their documentation."""

    def __init__(self) -> None:
        self._tenants: dict[Lane, _Tenant] = {}
        self._tenant_of: dict[int, tuple[_Tenant, int]] = {}
        self._quiet: list[tuple[int, int, _Tenant]] = []
        """Heads of quiet tenants, oldest message first."""
        self._noisy: dict[_Tenant, None] = {}
        self._in_flight = 0
        self._used = 0.0
        self._since_us = 0
        self._turns = count()

    def arrived(self, jobs: Sequence[tuple[int, Arrival]], now_us: int) -> None:
        """Append each message to its tenant's backlog."""
        for place, job in jobs:
            tenant = self._tenants.setdefault(job.lane, _Tenant())
            if tenant.noisy and now_us - tenant.sent_us > _SILENCE_US:
                self._calm(tenant)
            tenant.sent_us = now_us
            tenant.waiting.append(place)
            self._tenant_of[place] = (tenant, job.cost_us)
            if len(tenant.waiting) == 1 and not tenant.noisy:
                self._enter(tenant)

    def claimed(self, claims: Sequence[JobEvent]) -> None:
        """Ignore claims: a dispatched message is in flight."""

    def ended(self, endings: Sequence[JobEvent]) -> None:
        """Count messages in flight, and how long they took."""
        for place, at_us in endings:
            tenant, run_us = self._tenant_of.pop(place)
            tenant.in_flight -= 1
            self._in_flight -= 1
            weight = 2.0 ** ((at_us - self._since_us) / _HALF_LIFE_US)
            if weight > _RESCALE:
                self._rescale(at_us, weight)
                weight = 1.0
            tenant.used += run_us * weight
            self._used += run_us * weight

    def weigh(self, weights: Weights, now_us: int) -> None:
        """Ignore weights."""

    def plan(self, now_us: int, *, room: int, slots: int) -> Sequence[DispatchedRow]:
        """Dispatch messages of quiet tenants, then of noisy ones."""
        del slots
        rows: list[DispatchedRow] = []
        while len(rows) < room:
            tenant = self._next(now_us)
            if tenant is None:
                break
            rows.append(DispatchedRow(next(self._turns), tenant.waiting.popleft()))
            tenant.in_flight += 1
            self._in_flight += 1
            if not tenant.waiting and tenant.noisy:
                self._calm(tenant)
            elif tenant.waiting and not tenant.noisy:
                self._enter(tenant)
        return rows

    def _next(self, now_us: int) -> _Tenant | None:
        while self._quiet:
            place, _, tenant = heappop(self._quiet)
            if tenant.noisy or not tenant.waiting or tenant.waiting[0] != place:
                continue
            if not self._is_noisy(tenant):
                return tenant
            tenant.noisy = True
            self._noisy[tenant] = None
        silent = [each for each in self._noisy if now_us - each.sent_us > _SILENCE_US]
        if silent:
            for tenant in silent:
                self._calm(tenant)
            return self._next(now_us)
        return min(self._noisy, key=_load, default=None)

    def _is_noisy(self, tenant: _Tenant) -> bool:
        if (
            tenant.in_flight >= _IN_FLIGHT_LOWEST
            and tenant.in_flight > _SHARE * self._in_flight
        ):
            return True
        return tenant.used > _SHARE * self._used

    def _calm(self, tenant: _Tenant) -> None:
        """Classify a tenant as quiet."""
        tenant.noisy = False
        self._noisy.pop(tenant, None)
        if tenant.waiting:
            self._enter(tenant)

    def _enter(self, tenant: _Tenant) -> None:
        heappush(self._quiet, (tenant.waiting[0], next(self._turns), tenant))

    def _rescale(self, now_us: int, weight: float) -> None:
        for tenant in self._tenants.values():
            tenant.used /= weight
        self._used /= weight
        self._since_us = now_us


def _load(tenant: _Tenant) -> tuple[int, int]:
    return (tenant.in_flight, tenant.waiting[0])
