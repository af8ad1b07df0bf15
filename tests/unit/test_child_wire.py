"""Messages and the ledger mean the same on both sides."""

import os
from array import array

import pytest

from fairlead_worker import wire
from fairlead_worker.ledger import ASYNC, CELLS, Entry, Ledger, new_ledger

TO_CHILD: tuple[wire.ToChild, ...] = (
    wire.Go(7),
    wire.Drain(),
    wire.Release(),
    wire.Cancel(((1, 2), (3, 4))),
    wire.Lost(),
    wire.Take(1, 2),
    wire.Settled(1, 2),
    wire.Roll(3),
)
TO_PARENT: tuple[wire.ToParent, ...] = (
    wire.Ready(("a", "b")),
    wire.Growth((wire.Counted("c", ("x",), 1),), (wire.Spread("h", (), (0, 2), 0.5),)),
    wire.Alone(1, 2),
    wire.Ended(1, 2),
    wire.Declined(1, 2),
    wire.Holds(3, (4, 5)),
    wire.Idle(),
    wire.Busy(),
    wire.Unsure(),
    wire.Draining(),
    wire.Drained(),
)


@pytest.mark.parametrize("message", TO_CHILD, ids=lambda each: type(each).__name__)
def test_what_the_parent_says_arrives(message: wire.ToChild) -> None:
    """A message is one line and comes out as it went in."""
    line = wire.to_child(message)

    assert 1 == line.count(b"\n")
    assert message == wire.from_parent(line)


@pytest.mark.parametrize("message", TO_PARENT, ids=lambda each: type(each).__name__)
def test_what_a_child_says_arrives(message: wire.ToParent) -> None:
    """A message is one line and comes out as it went in."""
    line = wire.to_parent(message)

    assert 1 == line.count(b"\n")
    assert message == wire.from_child(line)


@pytest.mark.parametrize("line", [b"", b"x", b"[]", b'{"say":"what"}', b'{"say":"roll"}'])
def test_what_is_no_message_is_refused(line: bytes) -> None:
    """Parent and child of different versions say so instead of guessing."""
    with pytest.raises(wire.Garbled):
        wire.from_parent(line)


def test_a_ledger_shows_what_runs_through_another_mapping_of_it() -> None:
    """A record counts while its job id is set, and survives whoever wrote it."""
    descriptor = new_ledger(3)
    writer, reader = Ledger(descriptor, 3), Ledger(descriptor, 3)
    os.close(descriptor)

    writer.cells[CELLS : 2 * CELLS] = memoryview(array("q", (7, 8, 9, 10, ASYNC)))

    entry = Entry(slot=1, job_id=7, token=8, started_us=9, deadline_us=10, flags=ASYNC)
    assert (entry,) == reader.read()

    writer.cells[CELLS] = 0

    assert () == reader.read()
