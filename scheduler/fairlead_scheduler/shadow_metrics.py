"""The series of the policy that is simulated beside the one in force."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge


class ShadowMetrics:
    """The series of the policy that is simulated; only the leader shows them."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._moved = Gauge(
            "fairlead_policy_shadow_moved_share",
            "Which part of the pool's slots in use other tenants would have under the shadow "
            "policy; shown by the leader only.",
            ("pool", "digest"),
            registry=registry,
        )
        self._wait = Gauge(
            "fairlead_policy_shadow_wait_p99_seconds",
            "The simulated wait of everybody's jobs under the policy in force and under the "
            "shadow; shown by the leader only.",
            ("pool", "policy"),
            registry=registry,
        )
        self._simulated_at = Gauge(
            "fairlead_policy_shadow_timestamp_seconds",
            "When the shadow policy was simulated last; shown by the leader only.",
            registry=registry,
        )
        self.failed = Counter(
            "fairlead_policy_shadow_failed",
            "Simulations of the shadow policy that came to nothing.",
            registry=registry,
        )

    def show(
        self, pool: str, digest: str, *, moved_share: float, waits: Mapping[str, float]
    ) -> None:
        """Show what was simulated of a pool just now: `waits` in seconds, by policy."""
        self._moved.labels(pool, digest).set(moved_share)
        for policy, seconds in waits.items():
            self._wait.labels(pool, policy).set(seconds)
        self._simulated_at.set_to_current_time()

    def hide(self) -> None:
        """Show nothing any more: there is no shadow, or another scheduler leads."""
        self._moved.clear()
        self._wait.clear()
        self._simulated_at.set(0)
