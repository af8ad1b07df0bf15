"""Why a job waits, as four steps on its way to a slot, from what the leader answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from fairlead.inspection import formats
from fairlead_console.pages import words
from fairlead_console.pages.drawing import Segment, stacked
from fairlead_console.pages.values import Row

Tone = Literal["clear", "wait", "held"]
"""It goes on here; it waits as all do; something keeps it until that changes."""

_HELD = (
    *("no handler", "no leader"),
    "paused",
    "pool",
    "hold",
    "full",
    "limit",
    "rate",
    "key",
    "kind",
    "reserve",
)
_HOLDS: Mapping[str, tuple[str, str]] = {
    "no handler": (
        "No worker has a handler for its kind",
        "Start one whose application has it.",
    ),
    "no leader": ("No scheduler leads", "Nothing is dispatched until one does."),
    "paused": ("Its {by} is paused", "It starts again {when}when somebody resumes it."),
    "pool": ("No pool serves its queue", "Name the queue in a pool of the policy."),
    "hold": ("A rule of the policy holds it", "It waits while the rule's condition is true."),
    "full": (
        "Workers have no room for its kind",
        "Slots are free, but none for this kind: its concurrency is reached.",
    ),
    "limit": (
        "The limit of its {by} is reached",
        "As many of its jobs are in flight as the policy allows.",
    ),
    "rate": ("The rate of its {by} is used up", "The policy allows so many in a time."),
    "key": (
        "Its concurrency key is taken",
        "Others with the same value are in flight, as many as may be.",
    ),
    "kind": (
        "The limit of its kind is reached",
        "As many of its kind are in flight as may be.",
    ),
    "reserve": (
        "The other slots are for short jobs",
        "Its jobs may be long, and as many long ones are in flight as may be.",
    ),
    "band": ("Nothing of its own", "Jobs in bands above its own go first."),
    "cap": ("Nothing of its own", "Its {by} has more than its share in flight, so others go."),
    "turn": ("Nothing", "It waits for its turn: others go first in the fair order."),
    "capacity": ("Nothing", "It waits for a slot, and none is free."),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One question on the way to a slot, and its answer."""

    question: str
    answer: str
    detail: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class Holder:
    """A tenant that has slots of the job's pool."""

    tenant: str
    running: int
    is_own: bool
    width: float


@dataclass(frozen=True, slots=True)
class Blocked:
    """How a tenant or a queue spent the time that it has waited."""

    who: str
    seconds: float
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a job waits."""

    sentence: str
    """The leader's own."""
    steps: tuple[Step, ...]
    holders: tuple[Holder, ...]
    key_holders: tuple[int, ...]
    blocked: tuple[Blocked, ...]
    lag: float | None
    """How far its tenant is ahead of its share, in slot-seconds; below zero it is behind."""


def drawn(answer: Row, *, tenant: str, slots: Sequence[Row]) -> Waiting:
    """Draw an answer of `explain`.

    Args:
        answer: What it said.
        tenant: Whose job it is.
        slots: Who has the slots of its pool.
    """
    reason = cast("str | None", answer.get("blocked_by"))
    key = cast("Row | None", answer.get("key"))
    holders = cast("Sequence[int]", key["holders"]) if key else ()
    return Waiting(
        sentence=_sentence(str(answer["sentence"])),
        steps=tuple(_steps(answer, reason, slots)),
        holders=_holders(slots, tenant),
        key_holders=tuple(holders),
        blocked=_blocked(cast("Mapping[str, Row]", answer.get("waited") or {})),
        lag=cast("float | None", answer.get("lag_slot_seconds")),
    )


def _sentence(said: str) -> str:
    return f"{said[:1].upper()}{said[1:]}."


def _steps(answer: Row, reason: str | None, slots: Sequence[Row]) -> list[Step]:
    """Return what the answer says; without a leader it says less."""
    if answer["state"] != "pending" or reason is None:
        return []
    running = sum(int(str(row["running"])) for row in slots)
    ahead = cast("int | None", answer.get("ahead"))
    return [
        *([] if ahead is None else [_before(ahead)]),
        _holds(answer, reason),
        _slots(len(slots), running, reason),
        _start(cast("float | None", answer.get("starts_in_seconds"))),
    ]


def _before(ahead: int) -> Step:
    if not ahead:
        said = "It is the next one of its tenant in this queue."
        return Step("What is ahead of it?", "Nothing", said, "clear")
    said = "They are of its own tenant, in the same queue."
    return Step("What is ahead of it?", formats.jobs(ahead), said, "wait")


def _holds(answer: Row, reason: str) -> Step:
    title, detail = _HOLDS.get(reason, (reason, ""))
    by = str(answer.get("by") or "queue")
    rule = answer.get("rule")
    if rule is not None:
        title = f"Rule {rule} of the policy holds it"
    seconds = cast("float", answer.get("blocked_seconds") or 0.0)
    since = f" For {words.span(seconds)} so far." if seconds >= 0.05 else ""
    tone: Tone = "held" if reason in _HELD else "wait"
    ends_at = answer.get("paused_until")
    when = "" if ends_at is None else f"at {words.instant(formats.instant(str(ends_at)))}, or "
    said = detail.format(by=by, when=when) + since
    return Step("What holds it back?", title.format(by=by), said, tone)


def _slots(tenants: int, running: int, reason: str) -> Step:
    if not running:
        said = "No worker of its pool runs anything."
        return Step("Who has the slots?", "Nobody", said, "clear")
    jobs = "1 job runs" if running == 1 else f"{running:,} jobs run"
    of = "of 1 tenant" if tenants == 1 else f"of {tenants:,} tenants"
    tone: Tone = "wait" if reason in ("capacity", "turn", "band", "cap", "reserve") else "clear"
    return Step("Who has the slots?", jobs, f"They are {of}, shown below.", tone)


def _start(seconds: float | None) -> Step:
    if seconds is None:
        said = "Not while what holds it back lasts, or while no worker is there."
        return Step("When does it start?", "Not known", said, "held")
    if seconds < 0.05:
        return Step("When does it start?", "In a moment", "A slot is about to be its.", "clear")
    said = "An estimate: what is ahead of it at its tenant's share of the slots."
    return Step("When does it start?", f"In about {words.span(seconds)}", said, "wait")


def _holders(slots: Sequence[Row], tenant: str) -> tuple[Holder, ...]:
    most = max((int(str(row["running"])) for row in slots), default=1)
    return tuple(
        Holder(
            str(row["tenant"]),
            int(str(row["running"])),
            row["tenant"] == tenant,
            round(1000 * int(str(row["running"])) / most, 1),
        )
        for row in slots
    )


def _blocked(waited: Mapping[str, Row]) -> tuple[Blocked, ...]:
    found: list[Blocked] = []
    for who, wait in waited.items():
        held = cast("Mapping[str, float]", wait["blocked_seconds"])
        seconds = cast("float", wait["seconds"])
        if not held or seconds <= 0.0:
            continue
        free = max(0.0, seconds - sum(held.values()))
        parts = [("held", f"{each} {words.span(its)}", its) for each, its in held.items()]
        parts.append(("turn", f"its turn {words.span(free)}", free))
        found.append(Blocked(who, seconds, stacked(parts, total=seconds)))
    return tuple(found)
