"""Messages and the attempt table mean the same on both sides."""

import os
from array import array

import pytest

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import (
    ASYNC,
    CELLS,
    AttemptEntry,
    AttemptTable,
    new_attempt_table,
)

TO_CHILD: tuple[messages.ToChild, ...] = (
    messages.StartClaiming(7),
    messages.Drain(),
    messages.Release(),
    messages.Cancel(((1, 2), (3, 4))),
    messages.Evict(((1, 2),)),
    messages.LeaseLost(),
    messages.RunSuspect(1, 2),
    messages.QuarantineSources((("mail", "ann"),)),
    messages.IsolateKinds(("mail",)),
    messages.BoundClaims(8),
    messages.BoundClaims(None),
    messages.MayConnect(allowed=True),
    messages.SlotReturned(1, 2),
    messages.SuspectEnded(1, 2),
    messages.HeldTokensRequest(3),
)
TO_PARENT: tuple[messages.ToParent, ...] = (
    messages.Ready(("a", "b"), ("b",)),
    messages.MetricsGrowth(
        (messages.CounterGrowth("c", ("x",), 1),),
        (messages.HistogramGrowth("h", (), (0, 2), 0.5),),
    ),
    messages.AttemptsEnded(((("mail", "ann"), 3), (("mail", "bob"), 1))),
    messages.NeedsQuarantine(1, 2, ("mail", "ann"), suspect=True),
    messages.SuspectEnded(1, 2),
    messages.SuspectDeclined(1, 2),
    messages.HeldTokens(3, (4, 5)),
    messages.LoopBlocked("mail"),
    messages.Idle(),
    messages.Busy(),
    messages.ClaimAnswerLost(),
    messages.ConnectionRefused("too many open files"),
    messages.Connected(),
    messages.Draining(),
    messages.Drained(),
)


@pytest.mark.parametrize("message", TO_CHILD, ids=lambda each: type(each).__name__)
def test_what_the_parent_says_arrives(message: messages.ToChild) -> None:
    """A message is one line and comes out as it went in."""
    line = messages.to_child(message)

    assert 1 == line.count(b"\n")
    assert message == messages.from_parent(line)


@pytest.mark.parametrize("message", TO_PARENT, ids=lambda each: type(each).__name__)
def test_what_a_child_says_arrives(message: messages.ToParent) -> None:
    """A message is one line and comes out as it went in."""
    line = messages.to_parent(message)

    assert 1 == line.count(b"\n")
    assert message == messages.from_child(line)


@pytest.mark.parametrize(
    "line", [b"", b"x", b"[]", b'{"type":"what"}', b'{"type":"drained","x":1}']
)
def test_what_is_no_message_is_refused(line: bytes) -> None:
    """Parent and child of different versions fail instead of guessing."""
    with pytest.raises(messages.MalformedMessage):
        messages.from_parent(line)


def test_an_attempt_table_shows_what_runs_through_another_mapping() -> None:
    """A record counts while its job id is set, and survives the process that wrote it."""
    descriptor = new_attempt_table(3)
    writer, reader = AttemptTable(descriptor, 3), AttemptTable(descriptor, 3)
    os.close(descriptor)

    writer.cells[CELLS : 2 * CELLS] = memoryview(array("q", (7, 8, 9, 10, ASYNC)))

    entry = AttemptEntry(slot=1, job_id=7, token=8, started_us=9, deadline_us=10, flags=ASYNC)
    assert (entry,) == reader.read()

    writer.cells[CELLS] = 0

    assert () == reader.read()
