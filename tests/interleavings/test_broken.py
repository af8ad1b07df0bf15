"""The interleavings notice what they are for: statements that were broken on purpose."""

from dataclasses import dataclass

import pytest

from fairlead.db.statements import load
from tests.interleavings.conftest import MakeArena
from tests.interleavings.exploring import Arena
from tests.interleavings.operations import BY_NAME, Operation
from tests.interleavings.programs import dispatching


@dataclass(frozen=True, slots=True)
class Fault:
    """A text in a function, what stands there instead, and the operations that meet it."""

    function: str
    text: str
    instead: str
    line: str
    breaks: str


PAIR = (
    "((q.job_id, q.token) in (\n"
    "              select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token)))"
    " is true"
)
FAULTS = {
    "finish forgets the token": Fault(
        "finish",
        PAIR,
        "q.token is not null",
        "lost finish+steal_and_claim",
        "a job is in one place",
    ),
    "finish takes ids and tokens crosswise": Fault(
        "finish",
        PAIR,
        "q.token = any (tokens)",
        "running finish_crossed+extend",
        "a job is in one place",
    ),
    "cancel locks no job": Fault(
        "cancel",
        "fairlead._owns(j.tenant, j.enqueued_by) for update;",
        "fairlead._owns(j.tenant, j.enqueued_by);",
        "pending dispatch+cancel",
        "a row of the queue has a job",
    ),
    "a leader locks no epoch": Fault(
        "_leads",
        "l.timeline = fairlead._timeline() for share;",
        "l.timeline = fairlead._timeline();",
        "pending dispatch+take_over",
        "nobody changes anything under an old epoch",
    ),
    "a claim locks no worker": Fault(
        "claim",
        "        for share\n    ), timeline",
        "    ), timeline",
        "queued claim+deregister",
        "a claim is not missed by its worker's death",
    ),
    "a recall locks no row of the queue": Fault(
        "_recall",
        "q.worker is null order by q.job_id\n        for update skip locked) l;",
        "q.worker is null order by q.job_id) l;",
        "queued claim+recall",
        "an attempt ends only with a receipt",
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_in_a_function_is_noticed(make_arena: MakeArena, fault: Fault) -> None:
    """By a schedule that is printed, and that breaks the same again."""

    def broken(name: str, text: str) -> str:
        return text.replace(fault.text, fault.instead) if name == fault.function else text

    start, names = fault.line.split()
    operations = [BY_NAME[name] for name in names.split("+")]

    assert_noticed(make_arena(broken), start, operations, fault.breaks)


def test_a_dispatch_without_an_epoch_is_noticed(make_arena: MakeArena) -> None:
    """It changes something after another leader has taken over."""
    text = load("fairlead_scheduler.loop", "dispatch")
    broken = text.replace(b"where fairlead._leads(%(epoch)s)", b"")
    operations = [Operation("broken", dispatching(text=broken)), BY_NAME["take_over"]]

    assert text != broken
    assert_noticed(make_arena(), "pending", operations, "under an old epoch")


def assert_noticed(arena: Arena, start: str, operations: list[Operation], breaks: str) -> None:
    """Explore until something breaks, and see it break again when replayed."""
    report = arena.explore(start, operations, broken_max=1)
    (broken,) = report.broken
    assert any(breaks in what for what in broken.what), broken

    _, again = arena.run(start, operations, broken.choices)

    assert broken.what == tuple(again)
