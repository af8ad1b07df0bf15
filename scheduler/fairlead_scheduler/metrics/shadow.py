"""The series of the shadow policy, which is simulated alongside the one in force."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry

from fairlead.metrics.registry import counter, gauge
from fairlead_scheduler.metrics import series


class ShadowMetrics:
    """The series of the shadow policy; only the leader shows them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._moved = gauge(series.SHADOW_MOVED, registry)
        self._wait = gauge(series.SHADOW_WAIT, registry)
        self._simulated_at = gauge(series.SHADOW_AT, registry)
        self.failed = counter(series.SHADOW_FAILED, registry)

    def show(
        self, pool: str, digest: str, *, moved_share: float, waits: Mapping[str, float]
    ) -> None:
        """Show a pool's simulation: the moved share, and `waits` in seconds by policy."""
        self._moved.labels(pool, digest).set(moved_share)
        for policy, seconds in waits.items():
            self._wait.labels(pool, policy).set(seconds)
        self._simulated_at.set_to_current_time()

    def hide(self) -> None:
        """Remove all series: there is no shadow, or another scheduler leads."""
        self._moved.clear()
        self._wait.clear()
        self._simulated_at.set(0)
