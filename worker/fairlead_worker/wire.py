"""What a worker's parent and its children say to each other: JSON lines, and the ledger.

The parent starts a child by exec and leaves it two descriptors: one end of a Unix socket
pair, on which both sides write one JSON object per line, and the ledger, a piece of shared
memory in which the child notes each job before its handler starts. The ledger survives the
child, so that after a SIGKILL the parent still knows what had been started.

    python -m fairlead_worker.child --app module:attribute --pool P --concurrency N
        --control-fd F --ledger-fd F [--alone] [--log-format auto|json|console]
        [--log-level info]

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
import mmap
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeVar

# --- parent to child -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Go:
    """The worker has a row and its lease holds: claim under this id."""

    worker_id: int
    say: Literal["go"] = "go"


@dataclass(frozen=True, slots=True)
class Drain:
    """Claim no more, return what has not started, finish what runs, say `Drained`, exit."""

    say: Literal["drain"] = "drain"


@dataclass(frozen=True, slots=True)
class Release:
    """Stop now: handlers are told, those that end at once are released, the rest is left.

    The child says `Drained` within about a second and exits. What its ledger still holds then
    was cut short; the parent releases it, since only a dead process certainly runs nothing.
    """

    say: Literal["release"] = "release"


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody asked for these attempts, pairs of job id and token, to end as cancelled."""

    jobs: tuple[tuple[int, int], ...]
    say: Literal["cancel"] = "cancel"


@dataclass(frozen=True, slots=True)
class Lost:
    """The lease is gone: tell every handler, write nothing more, exit within a second."""

    say: Literal["lost"] = "lost"


@dataclass(frozen=True, slots=True)
class Take:
    """Run this attempt, which is leased already, alone; one at a time, until `Ended`."""

    job_id: int
    token: int
    say: Literal["take"] = "take"


@dataclass(frozen=True, slots=True)
class Settled:
    """The slot is free again that the child lent for this attempt with `Alone`.

    Nothing that runs alone needs it: the attempt may have ended, or waits for its process.
    """

    job_id: int
    token: int
    say: Literal["settled"] = "settled"


@dataclass(frozen=True, slots=True)
class Roll:
    """Say which tokens you hold, as of a moment at which no claim of yours is under way."""

    number: int
    say: Literal["roll"] = "roll"


# --- child to parent -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ready:
    """The application is loaded and the database was reached once; `Go` may come."""

    kinds: tuple[str, ...]
    say: Literal["ready"] = "ready"


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
    say: Literal["growth"] = "growth"


@dataclass(frozen=True, slots=True)
class Alone:
    """A claimed job must run in a process of its own; its slot is lent until `Settled`."""

    job_id: int
    token: int
    say: Literal["alone"] = "alone"


@dataclass(frozen=True, slots=True)
class Ended:
    """What came with `Take` has ended and that is written, or it held its job no longer."""

    job_id: int
    token: int
    say: Literal["ended"] = "ended"


@dataclass(frozen=True, slots=True)
class Declined:
    """What came with `Take` was not begun: it needs a process in which nothing has run yet."""

    job_id: int
    token: int
    say: Literal["declined"] = "declined"


@dataclass(frozen=True, slots=True)
class Holds:
    """The answer to the `Roll` with this number; without those that went out as `Alone`."""

    number: int
    tokens: tuple[int, ...]
    say: Literal["holds"] = "holds"


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is held, everything is written, and a claim found nothing."""

    say: Literal["idle"] = "idle"


@dataclass(frozen=True, slots=True)
class Busy:
    """A claim found something after `Idle`."""

    say: Literal["busy"] = "busy"


@dataclass(frozen=True, slots=True)
class Unsure:
    """The answer to a claim was lost with its connection: call the roll, nobody may hold it."""

    say: Literal["unsure"] = "unsure"


@dataclass(frozen=True, slots=True)
class Draining:
    """No claim is under way and none will be: what is dispatched from now on is for others."""

    say: Literal["draining"] = "draining"


@dataclass(frozen=True, slots=True)
class Drained:
    """All that can be written is written; the child exits now."""

    say: Literal["drained"] = "drained"


ToChild = Go | Drain | Release | Cancel | Lost | Take | Settled | Roll
State = Ready | Idle | Busy | Draining | Drained
ToParent = State | Growth | Alone | Ended | Declined | Holds | Unsure

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
Value = None | bool | int | float | str | tuple["Value", ...] | Counted | Spread
Message = TypeVar("Message")

_TO_CHILD: dict[str, Callable[..., ToChild]] = {
    "go": Go,
    "drain": Drain,
    "release": Release,
    "cancel": Cancel,
    "lost": Lost,
    "take": Take,
    "settled": Settled,
    "roll": Roll,
}
_TO_PARENT: dict[str, Callable[..., ToParent]] = {
    "ready": Ready,
    "growth": Growth,
    "alone": Alone,
    "ended": Ended,
    "declined": Declined,
    "holds": Holds,
    "idle": Idle,
    "busy": Busy,
    "unsure": Unsure,
    "draining": Draining,
    "drained": Drained,
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
    return json.dumps(asdict(message), separators=(",", ":")).encode() + b"\n"


def _message(line: bytes, kinds: Mapping[str, Callable[..., Message]]) -> Message:
    try:
        said: dict[str, Json] = json.loads(line)
        make = kinds[str(said["say"])]
        return make(**{name: _value(each) for name, each in said.items()})
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Garbled(line) from None


def _value(each: Json) -> Value:
    if isinstance(each, list):
        return tuple(_value(part) for part in each)
    if isinstance(each, dict):
        make = _COUNTED if "by" in each else _SPREAD
        return make(**{name: _value(part) for name, part in each.items()})
    return each


# --- the ledger ------------------------------------------------------------------------------

CELLS = 5
"""64-bit cells per record: job id (0: the slot is free), token, started, deadline, flags."""

ASYNC = 1  # runs on the event loop
THREAD = 2  # runs in a thread, which nobody can stop
PROCESS = 4  # runs in a process that the child itself can end
CANCELLED = 8  # was told to end because somebody cancelled the job


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A started attempt; times are microseconds of CLOCK_MONOTONIC, shared by all processes."""

    slot: int
    job_id: int
    token: int
    started_us: int
    deadline_us: int
    flags: int


class Ledger:
    """One record per slot, in memory that parent and child share.

    A record counts while its job id is set. The child writes the id last and clears it first;
    a reader takes a record only when its id and token are the same before and after.

    Args:
        descriptor: what `make` returned, inherited through exec.
        slots: how many records there are: the child's concurrency.
    """

    def __init__(self, descriptor: int, slots: int) -> None:
        self.cells = memoryview(mmap.mmap(descriptor, slots * CELLS * 8)).cast("q")
        self._slots = slots

    def read(self) -> tuple[Entry, ...]:
        """Return what runs, or ran when the child died."""
        found = (self._entry(slot) for slot in range(self._slots))
        return tuple(entry for entry in found if entry is not None)

    def _entry(self, slot: int) -> Entry | None:
        first = slot * CELLS
        job_id, token, started_us, deadline_us, flags = self.cells[first : first + CELLS]
        if job_id == 0 or [job_id, token] != self.cells[first : first + 2].tolist():
            return None
        return Entry(
            slot=slot,
            job_id=job_id,
            token=token,
            started_us=started_us,
            deadline_us=deadline_us,
            flags=flags,
        )


def make(slots: int) -> int:
    """Return a new descriptor of an empty ledger; the caller closes it.

    It is memory without a name where the system has such, so that a read-only file system and a
    crash leave nothing to think about.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("fairlead-ledger")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, slots * CELLS * 8)
    return descriptor
