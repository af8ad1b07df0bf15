"""The parsers of what comes from outside, each with its promise and with texts to begin at.

Whatever a text is, it is read, or refused as its reader says; any other exception is a finding.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice

from fairlead import cron_times as cron
from fairlead import durations, jsontext
from fairlead.inspection import error_chain
from fairlead.policy import PolicyRefused, canonical_json, digest, parse
from fairlead.policy.cel.errors import InvalidCondition
from fairlead.policy.cel.variables import expression
from fairlead_worker.ipc import messages
from tests.support import tree

_NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)
"""The day before clocks jump in Europe."""


@dataclass(frozen=True, slots=True)
class Target:
    """A parser.

    Args:
        try_: gives it some bytes; raises if it breaks its promise.
        seeds: what it reads.
    """

    try_: Callable[[bytes], None]
    seeds: Sequence[bytes]


def policy(data: bytes) -> None:
    """A document is refused in one printable line, or is the same after it was written down."""
    try:
        found = parse(_text(data))
    except PolicyRefused as error:
        if not str(error).isprintable():
            raise AssertionError(str(error)) from error
        return
    again = parse(canonical_json(found))
    if (found, digest(found)) != (again, digest(again)):
        raise AssertionError(canonical_json(found))


def condition(data: bytes) -> None:
    """A condition of a rule is refused at a place inside its text, or read."""
    text = _text(data)
    try:
        expression(text)
    except InvalidCondition as error:
        if not 1 <= error.column <= len(text) + 1:
            raise AssertionError(error.column) from error


def schedule(data: bytes) -> None:
    """A cron expression is refused, or its first times ascend."""
    words, _, zone = _text(data).partition("\n")
    try:
        times = [*islice(cron.parse(words, zone or "Europe/Berlin").after(_NOON), 3)]
    except cron.BadSchedule:
        return
    if times != sorted(set(times)):
        raise AssertionError(times)


def message(data: bytes) -> None:
    """A line between a worker's processes is a message or malformed."""
    for read in (messages.from_child, messages.from_parent):
        with suppress(messages.MalformedMessage):
            read(data)


def words(data: bytes) -> None:
    """A duration, a job's error and JSON are read or refused, each as its reader says."""
    text = _text(data)
    durations.read(text)
    error_chain.read(text)
    with suppress(ValueError):
        jsontext.parse("it", text)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


_POLICY = (tree.ROOT / "examples/policy.yaml").read_bytes()
TARGETS = {
    "policy": Target(policy, (_POLICY, b"{}", b"queues: [{match: {queue: a}}]")),
    "condition": Target(
        condition,
        (b"hour >= 8 && hour < 18", b'queue in ["a", "b"] ? !true : 1.5 < 2.0'),
    ),
    "schedule": Target(schedule, (b"*/15 2 * * MON-FRI", b"30 2 1 1 *\nAsia/Tokyo")),
    "message": Target(message, (b'{"type":"drain"}', b'{"type":"idle","sum":1}')),
    "words": Target(
        words,
        (b"1.5h", b"Traceback (most recent call last):\nValueError: no", b'{"a": [1, null]}'),
    ),
}
