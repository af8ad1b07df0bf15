"""Turns over tenants, for what one of them can make more of than there is time for."""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class TenantTurns(Generic[T]):
    """What waits: each tenant's in the order in which it came, one tenant after another."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[T]] = OrderedDict()

    def put(self, tenant: str, item: T) -> None:
        """Let it wait behind what the tenant has; a new tenant's turn comes last."""
        self._waiting.setdefault(tenant, deque()).append(item)

    def take(self) -> T | None:
        """Take the first item of the tenant whose turn it is; None without any."""
        if not self._waiting:
            return None
        tenant, items = self._waiting.popitem(last=False)
        item = items.popleft()
        if items:
            self._waiting[tenant] = items
        return item

    def __bool__(self) -> bool:
        """Whether anything waits."""
        return bool(self._waiting)
