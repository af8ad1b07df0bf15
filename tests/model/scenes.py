"""From where the model is explored, and with which misfortunes."""

from dataclasses import dataclass, replace

STUCK = "from here some job can never end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A state to begin with; each misfortune that it permits happens once or not at all."""

    name: str
    about: str
    rows: str
    processes: str
    permits: tuple[str, ...] = ()
    limit: int = 2
    """Jobs that the policy allows in flight."""
    is_sample: bool = False
    """Whether it is small enough for `make test`."""

    def permitting(self, *misfortunes: str) -> "Scene":
        """Return the scene with other misfortunes."""
        return replace(self, permits=misfortunes, is_sample=False)

    def __str__(self) -> str:
        """Return its name and what it permits."""
        return f"{self.name}: {', '.join(self.permits) or 'nothing goes wrong'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The model with one guard open, and the scene in which that shows."""

    name: str
    """As in the model: broken('name)."""
    scene: Scene
    breaks: str
    """What must never be, and then is."""
    source: str
    """Where the product decides it, or how the bug was fixed."""
    margin: int = 1
    is_long: bool = False
    """Whether it is too large for `make test`."""


_SERVER = "timeline(1) up(LEASE) floor(0) leader('s, 1, LEAD, LEASE, 1)"
_NO_WORKER = f"{_SERVER} drawn(2, 1)"
_ONE = f"job(1) {_SERVER} drawn(2, 1) live(1, LEASE, open)"
_TWO = f"job(1) {_SERVER} drawn(2, 2) live(1, LEASE, open) live(2, LEASE, open)"
_MORE = _ONE.replace("job(1)", "job(1) job(2)")
_STEADY = "sched('s, steady, 1, none) claims(1)"
_A = "worker('a, well, 1, trust(0), idle, none)"
_B = "worker('b, well, 2, trust(0), idle, none)"
_STEADY_A = _A.replace("well", "steady")
_STEADY_B = _B.replace("well", "steady")
_UNREGISTERED = "worker('a, well, 0, 0, idle, none)"
_LATER = "worker('b, well, 0, 0, idle, none)"
_LEADERS = f"sched('s, well, 1, none) sched('t, well, 0, none) claims(1) {_STEADY_A}"

WORKERS = Scene(
    name="workers",
    about="two workers and their leases",
    rows=_TWO,
    processes=f"{_STEADY} {_A} {_B}",
    permits=("cut",),
    is_sample=True,
)
CRASH = Scene(
    name="crash",
    about="two workers, and a server that forgets what it had not written",
    rows=_TWO,
    processes=f"{_STEADY} {_A} {_B} disk({_TWO})",
    permits=("crash",),
)
FAIL_OVER = Scene(
    name="fail-over",
    about="two workers, one of which registers late, and an asynchronous standby",
    rows=_ONE,
    processes=f"{_STEADY} {_A} {_LATER} standby({_ONE})",
    permits=("fail-over",),
)
REGISTERING = Scene(
    name="registering",
    about="two workers that register, and an asynchronous standby",
    rows=_NO_WORKER,
    processes=f"{_STEADY} {_UNREGISTERED} {_LATER} standby({_NO_WORKER})",
    permits=("fail-over",),
)
CONFIRMED = Scene(
    name="confirmed",
    about="the same with a synchronous standby",
    rows=_ONE,
    processes=f"{_STEADY} {_A} {_LATER} mirror({_ONE})",
    permits=("fail-over",),
)
LEADERS = Scene(
    name="leaders",
    about="two schedulers, two jobs, and a limit of one in flight",
    rows=_MORE,
    processes=_LEADERS,
    permits=("freeze-scheduler",),
    limit=1,
    is_sample=True,
)
LEADERS_FAIL_OVER = Scene(
    name="leaders, fail-over",
    about="the same behind a pooler, with an asynchronous standby",
    rows=_MORE,
    processes=f"{_LEADERS} standby({_MORE})",
    permits=("fail-over",),
    limit=1,
)
FLOOR = Scene(
    name="floor",
    about="three jobs with order tags, one of which is handed back",
    rows=f"{_TWO} job(2) job(3)",
    processes=f"{_STEADY} {_STEADY_A} {_STEADY_B}",
    permits=("return",),
    limit=3,
)
DRAIN = Scene(
    name="drain",
    about="a worker whose pod is given up, and another one",
    rows=f"{_TWO} mark(0, false)",
    processes=f"{_STEADY} {_A} {_STEADY_B} drainable('a)",
    permits=("mark",),
)

TRUE = (
    WORKERS,
    WORKERS.permitting("cut", "cut"),
    WORKERS.permitting("cut", "kill"),
    WORKERS.permitting("cut", "freeze"),
    WORKERS.permitting("freeze", "return"),
    WORKERS.permitting("lose", "recall", "return"),
    CRASH,
    FAIL_OVER,
    CONFIRMED,
    REGISTERING,
    REGISTERING.permitting("fail-over", "kill"),
    LEADERS,
    LEADERS.permitting("freeze-scheduler", "freeze-scheduler", "release", "recall"),
    LEADERS_FAIL_OVER.permitting("fail-over", "freeze-scheduler"),
    FLOOR,
    DRAIN.permitting("mark", "mark"),
    DRAIN.permitting("mark", "kill"),
)
"""All that the true model is explored from."""
