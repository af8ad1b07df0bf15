"""How many fires of a tenant's schedules go: so many a second, ten seconds' worth at once.

What is beyond waits its turn, in the order in which it came. Schedules outlive the session that
made them, and a fire takes the leader's time as well as the tenant's.
"""

_BURST_US = 10_000_000
"""As late as a fire may be before it counts as missed."""


class FireRates:
    """Says when each tenant's next fire may go (GCRA).

    Times are microseconds of the database's clock.
    """

    def __init__(self, per_second: int) -> None:
        self._step_us = 1e6 / per_second
        self._charged_until_us: dict[str, float] = {}
        """When the rate will have covered all that was charged."""

    def turn_us(self, tenant: str, now_us: int) -> int:
        """Return when a fire may go: now, or so much later that the rate covers it."""
        return max(now_us, int(self._charged_until_us.get(tenant, 0)) - _BURST_US)

    def charge(self, tenant: str, fires: int, now_us: int) -> None:
        """Count fires that went, or whose turn was promised."""
        since = max(self._charged_until_us.get(tenant, 0), now_us)
        self._charged_until_us[tenant] = since + fires * self._step_us

    def forget(self, now_us: int) -> None:
        """Forget tenants whose fires the rate has covered."""
        for tenant in [t for t, until in self._charged_until_us.items() if until <= now_us]:
            del self._charged_until_us[tenant]
