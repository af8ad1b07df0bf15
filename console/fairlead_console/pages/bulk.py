"""What is done to many jobs step by step: which they are, how far it has come, and its words.

Whoever asks for the next step says how far it has come, so that no console keeps that.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Literal
from urllib.parse import urlencode

from fairlead_console.pages.drawing import Segment, stacked
from fairlead_console.pages.values import Count

Verb = Literal["cancel", "retry"]

_TEXT_MAX = 256
_REASON_MAX = 500
_NUMBER_MAX = 2**63 - 1
_WORDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "cancel": (
        ("ended", "cancelled"),
        ("requested", "that run were asked to stop"),
        ("locked", "left, since another transaction holds them"),
    ),
    "retry": (("made", "run again"),),
}
_TONES = ("run", "wait", "later")


class Senseless(Exception):
    """What was asked for makes no sense; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Which jobs; what is None admits every job."""

    queue: str | None = None
    tenant: str | None = None
    kind: str | None = None

    @classmethod
    def of(cls, said: Mapping[str, str]) -> "Alike":
        """Return what an address or a form says."""
        return cls(*(_text(said, name) for name in ("queue", "tenant", "kind")))

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """What is named, with its value."""
        return tuple((name, value) for name, value in asdict(self).items() if value is not None)

    @property
    def query(self) -> str:
        """The same in an address."""
        return urlencode(self.parts)

    def refusal(self, verb: Verb) -> str:
        """Say why this may not be asked for so; empty: it may."""
        if verb == "retry" and self.queue is None:
            return "Name the queue whose failed jobs are to run again"
        if not self.parts:
            return "Name a queue, a tenant or a kind whose jobs to cancel"
        return ""


@dataclass(frozen=True, slots=True)
class Place:
    """How far the batches have come."""

    after_id: int | None = 0
    """None: to the end."""
    after_at: str = "-infinity"
    """The ending of that job, where they go by endings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One that somebody has begun."""

    verb: Verb
    alike: Alike
    reason: str
    through: str
    """The last job when it began: an id, or the instant of an ending."""
    total: Count
    """How many there were then."""
    place: Place
    done: Mapping[str, int]

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.place.after_id is None

    @property
    def fields(self) -> Mapping[str, str]:
        """What the form for the next step has to say."""
        return {
            **dict(self.alike.parts),
            "reason": self.reason,
            "through": self.through,
            "total": str(self.total.number),
            "more": "1" if self.total.or_more else "",
            "after_id": str(self.place.after_id),
            "after_at": self.place.after_at,
            **{name: str(number) for name, number in self.done.items()},
        }

    @property
    def bar(self) -> tuple[Segment, ...]:
        """What was done, of all."""
        parts = [
            (tone, f"{self.done.get(name, 0):,} {said}", float(self.done.get(name, 0)))
            for tone, (name, said) in zip(_TONES, _WORDS[self.verb], strict=False)
        ]
        done = sum(self.done.values())
        return stacked(parts, total=float(max(self.total.number, done, 1)))

    @property
    def said(self) -> tuple[tuple[str, str], ...]:
        """What was done, as numbers with their words; what is zero is left out."""
        return tuple(
            (f"{self.done.get(name, 0):,}", said)
            for at, (name, said) in enumerate(_WORDS[self.verb])
            if self.done.get(name, 0) or at == 0
        )

    def now(self, place: Place, done: Mapping[str, int]) -> "Run":
        """Return it as it is after a step."""
        return replace(self, place=place, done=dict(done))


def asked(verb: Verb, form: Mapping[str, str]) -> Run:
    """Return what a form asks for.

    Raises:
        Senseless: no page of the console asks for that.
    """
    alike = Alike.of(form)
    reason = form.get("reason", "").strip()[:_REASON_MAX]
    refusal = alike.refusal(verb) or ("" if reason else "Say why")
    if refusal:
        raise Senseless(refusal)
    try:
        through, after_at = form.get("through", ""), form.get("after_at", "-infinity")
        if verb == "cancel":
            _number(through)
        else:
            for each in (through, after_at):
                datetime.fromisoformat(each if each != "-infinity" else "0001-01-01")
        return Run(
            verb=verb,
            alike=alike,
            reason=reason,
            through=through,
            total=Count(_number(form.get("total", "0")), or_more=bool(form.get("more"))),
            place=Place(_number(form.get("after_id", "0")), after_at),
            done={name: _number(form.get(name, "0")) for name, _ in _WORDS[verb]},
        )
    except ValueError:
        raise Senseless("The page was of something else: load it again") from None


def _number(said: str) -> int:
    if not said.isascii() or not said.isdigit() or not 0 <= int(said[:20]) <= _NUMBER_MAX:
        raise ValueError
    return int(said)


def _text(said: Mapping[str, str], name: str) -> str | None:
    return said.get(name, "").replace("\0", "")[:_TEXT_MAX] or None
