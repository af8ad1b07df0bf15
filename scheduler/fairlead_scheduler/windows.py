"""What is used of the windows of rates, also of those that nobody has at hand."""

from collections.abc import Iterable

from fairlead_scheduler.bounds import Bounds
from fairlead_scheduler.rates import Rate, Used, carried
from fairlead_scheduler.terms import Terms


class Windows:
    """Makes the bounds of lanes and queues, and keeps what they leave behind."""

    __slots__ = ("_used",)

    def __init__(self, used: Iterable[Used] = ()) -> None:
        by_time = sorted(used, key=_empty_us)
        self._used = {(each.queue, each.tenant, each.per_us): each for each in by_time}

    def bounds(
        self,
        terms: Terms,
        former: Bounds | None,
        *,
        lane: tuple[str, str | None],
        slots: int,
        now_us: int,
    ) -> Bounds | None:
        """Return the bounds of these terms, with what is used of their windows.

        Args:
            terms: Those in force from now on.
            former: The bounds in force until now.
            lane: The queue, and the tenant, or None for the queue's own.
            slots: Of all live workers.
            now_us: The database's time.
        """
        if not terms.rates and (former is None or not former.rates):
            return Bounds(terms.limit_of(slots), (), []) if terms.bounded else None
        if former is not None and former.rates == terms.rates:
            # Other bands may have it still, with other weights or limits by a rule.
            return Bounds(terms.limit_of(slots), terms.rates, former.arrivals)
        queue, tenant = lane
        exact: dict[Rate, int] = {}
        if former is not None:
            exact = dict(zip(former.rates, former.arrivals, strict=True))
            for each in former.used(queue, tenant):
                self._used[queue, tenant, each.per_us] = each
        if not terms.bounded:
            return None
        arrivals: list[int] = []
        for rate in terms.rates:
            used = self._used.pop((queue, tenant, rate.per_us), None)
            arrival = 0 if used is None else carried(rate, used, now_us)
            arrivals.append(exact.get(rate, arrival))
        return Bounds(terms.limit_of(slots), terms.rates, arrivals)

    def forget(self, now_us: int) -> None:
        """Forget windows that are empty and that nobody has at hand."""
        self._used = {key: used for key, used in self._used.items() if used.empty_us > now_us}


def _empty_us(used: Used) -> int:
    """Return when a window is empty: the last one of a queue that moved is the one in use."""
    return used.empty_us
