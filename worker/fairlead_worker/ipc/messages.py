"""The messages between a worker's parent and its children: JSON lines.

The parent starts a child by exec and leaves it two descriptors: one end of a Unix socket pair,
on which both sides write one JSON object per line, and the attempt table.

    python -m fairlead_worker.child.child_main --app module:attribute --pool P
        --concurrency N --stand-ins N --control-fd F --table-fd F [--quarantine]
        [--wait-bounds SECONDS,…] [--log-format auto|json|console] [--log-level info]

The child reads the database's address from the environment, and connects when the parent has
sent `MayConnect`. It claims nothing before `StartClaiming`, which names the worker's row: the
parent registers once a child is ready. With `--quarantine` the child claims nothing at all: it
runs the leased attempts that it is sent with `RunSuspect`, one after another; `--concurrency`
is 1 then. A child leads a process group of its own (the parent starts it with
`process_group=0`): handlers with `process=True` run in processes of that group, so ending the
child means ending the group.

The parent ends a handler that ignores its deadline: when a record's deadline has passed by the
parent's grace, it kills the group, ends that attempt as failed and releases the others. The
child moves the deadline of a cancelled attempt to now, so that one rule serves both. Handlers
with `process=True` are ended by the child itself.

When a child dies the parent hands its jobs back. Attempts in the shared attempt table had
started; what else the child had claimed is found by the orphan-claim check: the parent asks the
database for the time, then sends every other child a `HeldTokensRequest`, which it answers
between two claims with all tokens that it holds. Rows of this worker that were claimed before
that time and whose token no child holds are the dead child's. A child that sends
`ClaimAnswerLost` lost the answer to a claim with its connection; the same check finds those.

Exit codes: 0 after `Drained` or `LeaseLost`, or when the parent has gone; 2 with a sentence on
standard error when the application cannot be loaded; 3 when its lifespan has not started, or
has ended early.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar, get_args

from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.source import Source

# --- parent to child -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartClaiming:
    """The worker has a row and a valid lease: claim under this id, also after a pause."""

    worker_id: int


@dataclass(frozen=True, slots=True)
class PauseClaiming:
    """Stop claiming, hand back what has not started, finish what runs, then wait."""

    number: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Claim no more, return what has not started, finish what runs, send `Drained`, exit."""


@dataclass(frozen=True, slots=True)
class Release:
    """Stop now: handlers are stopped, those that end at once are released, the rest is left.

    The child sends `Drained` within about a second and exits. What its table still holds then
    was cut short; the parent releases it, since only a dead process certainly runs nothing.
    """


@dataclass(frozen=True, slots=True)
class Cancel:
    """End these attempts, pairs of job id and token, as cancelled."""

    jobs: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Evict:
    """Stop these attempts, pairs of job id and token, and release them: others are to run."""

    jobs: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class LeaseLost:
    """The lease is lost: stop every handler, store nothing more, exit within a second."""


@dataclass(frozen=True, slots=True)
class RunSuspect:
    """Run this leased attempt in quarantine; one at a time, until `SuspectEnded`."""

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class QuarantineSources:
    """Send what is claimed of these sources as `NeedsQuarantine`; replaces the former list."""

    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class IsolateKinds:
    """Begin these kinds' coroutines in processes of their own, and no others, from now on."""

    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BoundClaims:
    """Hold at most so many unstarted attempts from now on; 1: one in all. None: no bound."""

    bound: int | None


@dataclass(frozen=True, slots=True)
class MayConnect:
    """Whether to open connections: not before the parent has its own; replaces the former one.

    Where they run out one that the parent has not is needed by it first. What has ended here is
    stored all the same.
    """

    allowed: bool


@dataclass(frozen=True, slots=True)
class SlotReturned:
    """The slot is free again that the child lent for this attempt with `NeedsQuarantine`.

    No suspect job needs it: the attempt may have ended, or waits for its process.
    """

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class HeldTokensRequest:
    """Send the tokens you hold, as of a moment at which no claim of yours is under way."""

    number: int


# --- child to parent -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ready:
    """The application is loaded, and both connections were opened: `StartClaiming` may come."""

    kinds: tuple[str, ...]
    evictable: tuple[str, ...] = ()
    """The kinds of which a run may be asked to stop so that another tenant can run."""
    max_attempts: tuple[int, ...] = ()
    """Of each of `kinds`, how many attempts its jobs have that do not say."""
    at_most_once: tuple[str, ...] = ()
    """The kinds whose jobs never begin again."""
    limited: tuple[str, ...] = ()
    """The kinds of which so many may run at once in the fleet: `limits` says how many."""
    limits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CounterGrowth:
    """How much one counter grew; labels in the order of the series' own."""

    series: str
    labels: tuple[str, ...]
    by: float


@dataclass(frozen=True, slots=True)
class HistogramGrowth:
    """How one histogram grew: per bucket, not cumulated; the last bucket is +Inf."""

    series: str
    labels: tuple[str, ...]
    buckets: tuple[int, ...]
    sum: float


@dataclass(frozen=True, slots=True)
class MetricsGrowth:
    """What was counted since the last one; about once a second, and not when nothing grew."""

    counters: tuple[CounterGrowth, ...]
    histograms: tuple[HistogramGrowth, ...]


@dataclass(frozen=True, slots=True)
class AttemptsEnded:
    """How many attempts of sources ended and left the process alive, since the last message."""

    counts: tuple[tuple[Source, int], ...]


@dataclass(frozen=True, slots=True)
class LoopBlocked:
    """Handlers of this kind keep the event loop from everything else for too long."""

    kind: str


@dataclass(frozen=True, slots=True)
class NeedsQuarantine:
    """A claimed job needs a quarantine process; its slot is lent meanwhile.

    It is suspect, or else its source is among the `QuarantineSources`.
    """

    job_id: int
    token: int
    source: Source
    suspect: bool
    gated: bool = False
    """Whether it is inside its kind's gate, and the child waits for its `SuspectEnded`."""


@dataclass(frozen=True, slots=True)
class SuspectEnded:
    """The attempt in quarantine has ended and that is stored, or it had lost its job.

    The parent sends it on to the child that had claimed a gated one, whatever became of that.
    """

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class SuspectDeclined:
    """The attempt in quarantine was not begun: it needs a process that has run nothing yet."""

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class HeldTokens:
    """Answers the request of this number; attempts sent as `NeedsQuarantine` are left out."""

    number: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is held, everything is stored, and a claim found nothing."""


@dataclass(frozen=True, slots=True)
class Busy:
    """A claim is made after `Idle`; what it finds may be held from now on."""


@dataclass(frozen=True, slots=True)
class JobsDone:
    """As many jobs as `--jobs` allows were claimed, and every ending is stored."""


@dataclass(frozen=True, slots=True)
class Slotless:
    """So many attempts hold no slot: they wait for their kinds' concurrency, or do not stop."""

    count: int


@dataclass(frozen=True, slots=True)
class ClaimAnswerLost:
    """The answer to a claim was lost with its connection: run an orphan-claim check."""


@dataclass(frozen=True, slots=True)
class ConnectionRefused:
    """A connection could not be opened, for this reason; sent at each try."""

    reason: str
    has_answered: bool = False
    """Whether the reason is the server's own."""


@dataclass(frozen=True, slots=True)
class Connected:
    """After `Ready` and `ConnectionRefused`: both connections have been opened again."""


@dataclass(frozen=True, slots=True)
class ClaimingPaused:
    """Nothing is held and all endings are stored, for the pause of this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Draining:
    """No claim is under way and none will be: what is dispatched from now on is for others."""


@dataclass(frozen=True, slots=True)
class Drained:
    """All that can be stored is stored; the child leaves its lifespan and exits."""


ToChild = (
    StartClaiming
    | PauseClaiming
    | Drain
    | Release
    | Cancel
    | Evict
    | LeaseLost
    | RunSuspect
    | QuarantineSources
    | IsolateKinds
    | BoundClaims
    | MayConnect
    | SlotReturned
    | SuspectEnded
    | HeldTokensRequest
)
ConnectionNews = ConnectionRefused | Connected | ClaimAnswerLost
State = Ready | Idle | Busy | JobsDone | Slotless | LoopBlocked | Draining | Drained
ToParent = (
    State
    | MetricsGrowth
    | AttemptsEnded
    | NeedsQuarantine
    | SuspectEnded
    | SuspectDeclined
    | HeldTokens
    | ConnectionNews
    | ClaimingPaused
)

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Value = None | bool | int | float | str | tuple["Value", ...] | CounterGrowth | HistogramGrowth
Message = TypeVar("Message")

# The field `type` of a line is the class's name in lower case.
_TO_CHILD: dict[str, Callable[..., ToChild]] = {
    kind.__name__.lower(): kind for kind in get_args(ToChild)
}
_TO_PARENT: dict[str, Callable[..., ToParent]] = {
    kind.__name__.lower(): kind for kind in get_args(ToParent)
}
_COUNTER: Callable[..., CounterGrowth] = CounterGrowth
_HISTOGRAM: Callable[..., HistogramGrowth] = HistogramGrowth


class MalformedMessage(ValueError):
    """What was received is no message: parent and child differ in version."""


def to_child(message: ToChild) -> bytes:
    """Return the line that carries a message to a child."""
    return _line(message)


def from_parent(line: bytes) -> ToChild:
    """Read a line that `to_child` made.

    Raises:
        MalformedMessage: it is no such line.
    """
    return _message(line, _TO_CHILD)


def to_parent(message: ToParent) -> bytes:
    """Return the line that carries a message to the parent."""
    return _line(message)


def from_child(line: bytes) -> ToParent:
    """Read a line that `to_parent` made.

    Raises:
        MalformedMessage: it is no such line.
    """
    return _message(line, _TO_PARENT)


def _line(message: ToChild | ToParent) -> bytes:
    # Not pydantic's: it alone would take a tenth of the memory that a parent may have.
    fields = {"type": type(message).__name__.lower(), **asdict(message)}
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def _message(line: bytes, kinds: Mapping[str, Callable[..., Message]]) -> Message:
    try:
        fields: dict[str, Json] = json.loads(line)
        make = kinds[str(fields.pop("type"))]
        return make(**{field: _value(each) for field, each in fields.items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise MalformedMessage(line) from None


def _value(each: Json) -> Value:
    if isinstance(each, list):
        return tuple(_value(part) for part in each)
    if isinstance(each, dict):
        make = _COUNTER if "by" in each else _HISTOGRAM
        return make(**{field: _value(part) for field, part in each.items()})
    return each
