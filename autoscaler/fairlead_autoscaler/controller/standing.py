"""Say why this process cannot lead, while nobody is known to: in the log, an event, a metric.

Every pod is ready meanwhile and no pool is scaled, so that nothing else would say it.
"""

from collections.abc import Callable

from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_autoscaler.controller.options import OwnPod
from fairlead_autoscaler.election import vacancy
from fairlead_autoscaler.election.vacancy import Obstacle, Problem, Vacancy
from fairlead_autoscaler.kube.port import Event, KubeError, KubePort
from fairlead_autoscaler.metrics.registry import Metrics

_log = log.get("autoscaler.standing")
LOG_SECONDS = 60.0
RETRY_SECONDS = 30.0
"""How long after an event that could not be recorded the next one is tried."""
EVENT_SECONDS = 300.0
"""How often the event is counted up while the problem lasts."""


class Standing:
    """What one process says of itself; its loop calls `check` at each step."""

    def __init__(
        self, port: KubePort, metrics: Metrics, pod: OwnPod, *, clock: Callable[[], float]
    ) -> None:
        self._port = port
        self._metrics = metrics
        self._pod = pod
        self._clock = clock
        self._vacancy = Vacancy()
        self._throttle = LogThrottle(LOG_SECONDS)
        self._event_at: float | None = None
        """When the next event is due; None: at once."""

    def check(self, problem: Problem | None) -> None:
        """Look once more, and say what has been wrong for too long.

        Args:
            problem: What keeps this process from leading now; None: it leads, or another does.
        """
        now = self._clock()
        self._vacancy = vacancy.observed(self._vacancy, problem, now)
        said = vacancy.overdue(self._vacancy, now)
        self._metrics.show_obstacle(None if said is None else said.obstacle.value)
        if said is None:
            self._throttle.reset()
            self._event_at = None
            return
        if self._throttle.due(said.obstacle.value, now):
            _log.error("leadership.impossible", obstacle=said.obstacle.value, reason=said.error)
        if self._event_at is None or now >= self._event_at:
            self._record(said, now)

    def _record(self, said: Problem, now: float) -> None:
        """Record the event on our own pod, where there is an answer to be expected."""
        self._event_at = now + RETRY_SECONDS
        if said.obstacle is Obstacle.API_UNREACHABLE:
            return
        event = Event(
            kind="Pod",
            name=self._pod.name,
            uid=self._pod.uid,
            type="Warning",
            reason="CannotLead",
            action="Lead",
            note=said.sentence,
        )
        try:
            self._port.record_event(event)
        except KubeError as error:
            self._metrics.errors.labels("publish").inc()
            _log.warning("event.not_recorded", object=event.name, reason=str(error))
        else:
            self._event_at = now + EVENT_SECONDS
