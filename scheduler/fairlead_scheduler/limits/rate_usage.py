"""The use of rate windows, also of lanes and queues that are not in memory."""

from collections.abc import Iterable

from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.policy.compiled import Terms
from fairlead_scheduler.policy.gcra import Rate, WindowUsage, carry_over


class RateUsage:
    """Makes the limiters of lanes and queues, and keeps the use of dropped ones."""

    __slots__ = ("_used",)

    def __init__(self, used: Iterable[WindowUsage] = ()) -> None:
        by_time = sorted(used, key=_empty_us)
        self._used = {(each.queue, each.tenant, each.per_us): each for each in by_time}

    def make_limiter(
        self,
        terms: Terms,
        former: Limiter | None,
        *,
        lane: tuple[str, str | None],
        slots: int,
        now_us: int,
    ) -> Limiter | None:
        """Return a limiter for these terms, with the use of its windows; None if unbounded.

        Args:
            terms: The terms in force from now on.
            former: The limiter in force until now.
            lane: The queue, and the tenant, or None for the queue's own.
            slots: The slots of all live workers.
            now_us: The database's time.
        """
        if not terms.rates and (former is None or not former.rates):
            return Limiter(terms.limit_of(slots), (), []) if terms.is_bounded else None
        if former is not None and former.rates == terms.rates:
            # Other bands may still use it, with other weights or limits by a rule.
            return Limiter(terms.limit_of(slots), terms.rates, former.arrivals)
        queue, tenant = lane
        exact: dict[Rate, int] = {}
        if former is not None:
            exact = dict(zip(former.rates, former.arrivals, strict=True))
            for each in former.usage(queue, tenant):
                self._used[queue, tenant, each.per_us] = each
        if not terms.is_bounded:
            return None
        arrivals: list[int] = []
        for rate in terms.rates:
            used = self._used.pop((queue, tenant, rate.per_us), None)
            arrival = 0 if used is None else carry_over(rate, used, now_us)
            arrivals.append(exact.get(rate, arrival))
        return Limiter(terms.limit_of(slots), terms.rates, arrivals)

    def forget(self, now_us: int) -> None:
        """Forget empty windows that no limiter uses."""
        self._used = {key: used for key, used in self._used.items() if used.empty_us > now_us}


def _empty_us(used: WindowUsage) -> int:
    """Return when a window is empty: of a queue that moved, the latest one is in use."""
    return used.empty_us
