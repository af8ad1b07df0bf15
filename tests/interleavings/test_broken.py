"""The interleavings notice what they are for: statements that were broken on purpose."""

from dataclasses import dataclass

import pytest

from fairlead.db.statements import load
from tests.interleavings.conftest import MakeArena
from tests.interleavings.exploring import Arena
from tests.interleavings.operations import BY_NAME, Operation
from tests.interleavings.programs import dispatching, renumbering
from tests.support.sampled import sampled


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
        "fairlead._acts_for(l.login)) for key share;",
        "fairlead._acts_for(l.login));",
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
    "checkpoints are stored without a second look at their tokens": Fault(
        "store_checkpoints",
        "    own := fairlead._own(ids, tokens);\n",
        "",
        "lost store_checkpoints+steal",
        "who says from where a job goes on has it",
    ),
    "a recall locks no row of the queue": Fault(
        "_recall",
        "q.worker is null order by q.job_id\n        for update skip locked) l;",
        "q.worker is null order by q.job_id) l;",
        "queued claim+recall",
        "an attempt ends only with a receipt",
    ),
    "a claim of one job is not told": Fault(
        "claim",
        "from leased l having count(*) > 0",
        "from leased l having count(*) > 1",
        "mixed claim_other+extend",
        "each claim is told",
    ),
}


@pytest.mark.parametrize("fault", sampled(FAULTS.values(), of=4), ids=FAULTS)
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


def test_a_renumbering_that_leaves_the_floor_is_noticed(make_arena: MakeArena) -> None:
    """No worker that is busy claims a row again that was lowered below it."""
    text = load("fairlead_scheduler.loop", "renumber")
    broken = text.replace(b"set vtag = 0", b"set vtag = f.vtag")
    operations = [Operation("broken", renumbering(text=broken)), BY_NAME["extend"]]

    assert text != broken
    assert_noticed(make_arena(), "mixed", operations, "what waits below the floor is told")


def assert_noticed(arena: Arena, start: str, operations: list[Operation], breaks: str) -> None:
    """Explore until something breaks, and see it break again when replayed."""
    report = arena.explore(start, operations, broken_max=1)
    (broken,) = report.broken
    assert any(breaks in what for what in broken.what), broken

    _, again = arena.run(start, operations, broken.choices)

    assert broken.what == tuple(again)
