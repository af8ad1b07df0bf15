"""What a worker's parent and its children say to each other, as JSON lines.

The parent starts a child by exec and leaves it two descriptors: one end of a Unix socket
pair, on which both sides write one JSON object per line, and the `ledger`.

    python -m fairlead_worker.child --app module:attribute --pool P --concurrency N
        --control-fd F --ledger-fd F [--alone] [--wait-bounds SECONDS,…]
        [--log-format auto|json|console] [--log-level info]

The database comes from the environment. A child claims nothing before `Go`, which names the
worker's row: the parent registers when a child is ready, and not before. With `--alone` a child
claims nothing at all: it runs the attempts that it is given with `Take`, which are leased
already, one after another; N is 1 then. A child leads a process group of its own (the parent
starts it with `process_group=0`): handlers with `process=True` run in processes of that group,
so whoever ends a child ends the group.

A handler that does not heed its deadline is ended by the parent: when a record's deadline
has passed by the parent's grace it kills the group, ends that attempt as failed and
releases the others. The child moves the deadline of a cancelled attempt to now, so that one
rule serves both. Handlers with PROCESS are ended by the child itself.

After a child's death its jobs are handed back by the parent: those that the ledger still
holds had started; what else the child had claimed is found by a roll call. The parent asks
the database for the time, then asks every other child with `Roll`, which answers, between
two claims, with all tokens that it holds. Rows of this worker that were claimed before that
time, and whose token nobody holds, are the dead child's. A child that is `Unsure` has lost the
answer to a claim with its connection; the same roll call finds what was claimed for nobody.

Exit codes: 0 after `Drained` or `Lost`, or when the parent has gone; 2 with a sentence on
standard error when the application cannot be loaded.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar, get_args

from fairlead_worker.keys import Key

# --- parent to child -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Go:
    """The worker has a row and its lease holds: claim under this id, also after a `Rest`."""

    worker_id: int


@dataclass(frozen=True, slots=True)
class Rest:
    """Claim no more, return what has not started, go on with what runs, until the next `Go`."""

    number: int


@dataclass(frozen=True, slots=True)
class Drain:
    """Claim no more, return what has not started, finish what runs, say `Drained`, exit."""


@dataclass(frozen=True, slots=True)
class Release:
    """Stop now: handlers are told, those that end at once are released, the rest is left.

    The child says `Drained` within about a second and exits. What its ledger still holds then
    was cut short; the parent releases it, since only a dead process certainly runs nothing.
    """


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody asked for these attempts, pairs of job id and token, to end as cancelled."""

    jobs: tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is gone: tell every handler, write nothing more, exit within a second."""


@dataclass(frozen=True, slots=True)
class Take:
    """Run this attempt, which is leased already, alone; one at a time, until `Ended`."""

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The slot is free again that the child lent for this attempt with `Alone`.

    Nothing that runs alone needs it: the attempt may have ended, or waits for its process.
    """

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class Roll:
    """Say which tokens you hold, as of a moment at which no claim of yours is under way."""

    number: int


# --- child to parent -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ready:
    """The application is loaded and the database was reached once; `Go` may come."""

    kinds: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """How much one counter grew; labels in the order that `tally` names them in."""

    series: str
    labels: tuple[str, ...]
    by: float


@dataclass(frozen=True, slots=True)
class Spread:
    """How one histogram grew: per bucket, not cumulated; the last bucket is +Inf."""

    series: str
    labels: tuple[str, ...]
    buckets: tuple[int, ...]
    sum: float


@dataclass(frozen=True, slots=True)
class Growth:
    """What was counted since the last one; about once a second, and not when nothing grew."""

    counters: tuple[Counted, ...]
    spreads: tuple[Spread, ...]


@dataclass(frozen=True, slots=True)
class Alone:
    """A claimed job must run in a process of its own; its slot is lent until `Settled`."""

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class Ended:
    """What came with `Take` has ended and that is written, or it held its job no longer."""

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class Declined:
    """What came with `Take` was not begun: it needs a process in which nothing has run yet."""

    job_id: int
    token: int


@dataclass(frozen=True, slots=True)
class Holds:
    """The answer to the `Roll` with this number; without those that went out as `Alone`."""

    number: int
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is held, everything is written, and a claim found nothing."""


@dataclass(frozen=True, slots=True)
class Busy:
    """A claim found something after `Idle`."""


@dataclass(frozen=True, slots=True)
class Unsure:
    """The answer to a claim was lost with its connection: call the roll, nobody may hold it."""


@dataclass(frozen=True, slots=True)
class Rested:
    """Nothing is held and all endings are written, under the `Rest` with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Draining:
    """No claim is under way and none will be: what is dispatched from now on is for others."""


@dataclass(frozen=True, slots=True)
class Drained:
    """All that can be written is written; the child exits now."""


ToChild = Go | Rest | Drain | Release | Cancel | Lost | Take | Settled | Roll
State = Ready | Idle | Busy | Draining | Drained
ToParent = State | Growth | Alone | Ended | Declined | Holds | Unsure | Rested

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Value = None | bool | int | float | str | tuple["Value", ...] | Counted | Spread
Message = TypeVar("Message")

# On the line a message has its class's name.
_TO_CHILD: dict[str, Callable[..., ToChild]] = {
    kind.__name__.lower(): kind for kind in get_args(ToChild)
}
_TO_PARENT: dict[str, Callable[..., ToParent]] = {
    kind.__name__.lower(): kind for kind in get_args(ToParent)
}
_COUNTED: Callable[..., Counted] = Counted
_SPREAD: Callable[..., Spread] = Spread


class Garbled(ValueError):
    """What was received is no message: parent and child differ in version."""


def to_child(message: ToChild) -> bytes:
    """Return the line that carries a message to a child."""
    return _line(message)


def from_parent(line: bytes) -> ToChild:
    """Read a line that `to_child` made.

    Raises:
        Garbled: it is no such line.
    """
    return _message(line, _TO_CHILD)


def to_parent(message: ToParent) -> bytes:
    """Return the line that carries a message to the parent."""
    return _line(message)


def from_child(line: bytes) -> ToParent:
    """Read a line that `to_parent` made.

    Raises:
        Garbled: it is no such line.
    """
    return _message(line, _TO_PARENT)


def _line(message: ToChild | ToParent) -> bytes:
    # Not pydantic's: it alone would take a tenth of the memory that a parent may have.
    said = {"say": type(message).__name__.lower(), **asdict(message)}
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


def _message(line: bytes, kinds: Mapping[str, Callable[..., Message]]) -> Message:
    try:
        said: dict[str, Json] = json.loads(line)
        make = kinds[str(said.pop("say"))]
        return make(**{field: _value(each) for field, each in said.items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Garbled(line) from None


def _value(each: Json) -> Value:
    if isinstance(each, list):
        return tuple(_value(part) for part in each)
    if isinstance(each, dict):
        make = _COUNTED if "by" in each else _SPREAD
        return make(**{field: _value(part) for field, part in each.items()})
    return each
