"""Slots hold attempts from claim to ending, and gates bound what runs of one kind."""

import os
from collections.abc import Iterable
from dataclasses import replace

import pytest

import fairlead
from fairlead.tasks import Handler
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Finished, HandedBack
from fairlead_worker.child.concurrency_gate import ConcurrencyGates
from fairlead_worker.child.deadline_watch import overdue
from fairlead_worker.child.intake import ClaimSorter
from fairlead_worker.child.slots import Slots
from fairlead_worker.ipc.attempt_table import (
    ASYNC,
    CANCELLED,
    THREAD,
    AttemptTable,
    new_attempt_table,
    stand_ins_of,
)
from tests.support.attempts import Sink, claimed


def handler(kind: str = "work", concurrency: int | None = None) -> Handler:
    """Return a handler that does nothing."""
    tasks = fairlead.Tasks()
    tasks.handler(kind, concurrency=concurrency)(lambda _job: None)
    return tasks.handlers[kind]


def attempts(count: int, run_by: Handler) -> list[Attempt]:
    """Return that many attempts."""
    return [Attempt(claimed(n, 100 + n), run_by, Sink(), 0) for n in range(1, count + 1)]


def slots_of(concurrency: int) -> Slots:
    """Return so many slots with an attempt table, as a child has them."""
    descriptor = new_attempt_table(concurrency)
    try:
        table = AttemptTable(descriptor, concurrency)
        return Slots(concurrency, table, stand_ins=stand_ins_of(concurrency))
    finally:
        os.close(descriptor)


@pytest.fixture
def slots() -> Slots:
    """Return two slots with an attempt table."""
    return slots_of(2)


def entered(slots: Slots) -> int:
    """Take a free slot."""
    slot = slots.acquire()
    assert slot is not None
    return slot


def tokens(held: Iterable[Attempt]) -> list[int]:
    """Return the attempts' tokens."""
    return [attempt.token for attempt in held]


def test_an_attempt_is_held_from_its_claim_until_its_ending_is_written(slots: Slots) -> None:
    """The orphan-claim check finds it wherever it is on its way."""
    one, two = attempts(2, handler())
    slots.hold([one, two])
    one.slot = 1
    slots.record_start(one, ASYNC)
    slots.record_end(one)

    assert [101, 102] == list(slots.held)
    assert not slots.is_empty

    slots.drop([one, two])
    slots.drop([two])

    assert slots.is_empty


def test_a_loan_keeps_a_child_from_being_empty(slots: Slots) -> None:
    """A suspect job that runs elsewhere still takes a slot here, until that is returned."""
    (one,) = attempts(1, handler())
    slots.ready.append(one)
    assert one is slots.next(entered(slots))
    slots.lend_slot(one)

    assert (False, 1) == (slots.is_empty, slots.busy)
    assert [True, False] == [slots.return_slot(one.key), slots.return_slot(one.key)]
    assert (True, 0) == (slots.is_empty, slots.busy)


def test_a_slot_goes_from_one_attempt_to_the_next_and_is_free_when_there_is_none(
    slots: Slots,
) -> None:
    """At any time a slot is free, or the property of one attempt."""
    one, two = attempts(2, handler())
    slots.ready.extend([one, two])
    slot = entered(slots)

    assert [one, two] == [slots.next(slot), slots.next(slot)]
    assert [slot, slot, 1] == [one.slot, two.slot, slots.free]
    assert slots.next(slot) is None
    assert 2 == slots.free


def test_an_attempt_that_does_not_stop_gives_up_its_slot(slots: Slots) -> None:
    """Another one runs in its place; when it ends after all there are as many as before."""
    one, two, three = attempts(3, handler())
    slots.ready.extend([one, two])
    for each in (one, two):
        assert each is slots.next(entered(slots))
        slots.record_start(each, ASYNC)

    assert [True, False] == [slots.stand_in(one), slots.stand_in(one)]
    assert (1, 1, 1) == (slots.free, slots.busy, slots.slotless)
    slots.ready.append(three)
    assert three is slots.next(entered(slots))
    slots.record_start(three, ASYNC)
    assert {101, 102, 103} == {each.token for each in slots.running if each is not None}

    slots.record_end(one)
    assert slots.next(one.slot) is None
    assert (0, 2, 0) == (slots.free, slots.busy, slots.slotless)
    for each in (two, three):
        slots.record_end(each)
        slots.free_slot(each)
    assert (2, 0) == (slots.free, slots.busy)


def stick(slots: Slots, attempt: Attempt) -> bool:
    """Begin an attempt that does not stop; return whether it gave up its slot."""
    slots.ready.append(attempt)
    assert attempt is slots.next(entered(slots))
    slots.record_start(attempt, ASYNC)
    return slots.stand_in(attempt)


@pytest.mark.parametrize(("concurrency", "most"), [(1, 0), (2, 1), (7, 3), (8, 4), (50, 4)])
def test_few_attempts_at_a_time_have_others_run_in_their_places(
    concurrency: int, most: int
) -> None:
    """Half of the slots and four at most, since each keeps a thread; of a single slot none."""
    slots = slots_of(concurrency)

    gave_up = [stick(slots, each) for each in attempts(most + 1, handler())]

    assert [True] * most + [False] == gave_up
    assert (concurrency - 1, most) == (slots.free, slots.slotless)


def test_the_end_of_what_does_not_stop_lets_another_give_up_its_slot(slots: Slots) -> None:
    """It has none itself any more."""
    first, last = attempts(2, handler())
    assert [True, False] == [stick(slots, each) for each in (first, last)]

    slots.record_end(first)
    assert slots.next(first.slot) is None

    assert [False, True] == [slots.stand_in(first), slots.stand_in(last)]


def test_an_attempt_waits_at_its_gate_without_a_slot(slots: Slots) -> None:
    """The slot goes to the next that may run; leaving the gate makes the first one ready."""
    one, two, three = attempts(3, handler(concurrency=1))
    (free,) = attempts(1, handler("free"))
    slots.ready.extend([one, two, three, free])

    assert [one, free] == [slots.next(entered(slots)), slots.next(entered(slots))]
    assert slots.acquire() is None
    assert ((two, three), 2, False) == (slots.waiting(), slots.slotless, slots.has_ready)
    slots.record_end(one)
    assert ((three,), 1, True) == (slots.waiting(), slots.slotless, slots.has_ready)
    assert two is slots.next(one.slot)
    assert one.slot == two.slot
    assert slots.next(free.slot) is None
    assert 1 == slots.free


def test_what_the_parent_runs_stays_inside_its_gate_until_it_has_ended(slots: Slots) -> None:
    """Its slot may be returned before that; a repeat changes nothing."""
    suspect, other = attempts(2, handler(concurrency=1))
    suspect.where = "quarantine"
    slots.ready.extend([suspect, other])
    assert suspect is slots.next(entered(slots))
    slots.lend_slot(suspect)

    assert slots.return_slot(suspect.key)
    assert slots.next(entered(slots)) is None
    assert (other,) == slots.waiting()

    slots.end_elsewhere(suspect.key)
    slots.end_elsewhere(suspect.key)
    assert other is slots.next(entered(slots))
    assert () == slots.waiting()


def test_a_suspect_job_waits_at_its_gate_like_any_other(slots: Slots) -> None:
    """Its neighbours in the slots are of other kinds."""
    running, suspect = attempts(2, handler(concurrency=1))
    suspect.where = "quarantine"
    slots.ready.extend([running, suspect])

    assert running is slots.next(entered(slots))
    assert slots.next(entered(slots)) is None
    slots.record_end(running)
    assert suspect is slots.next(running.slot)


def test_a_kind_is_left_out_of_claims_while_as_many_wait_as_may_run(slots: Slots) -> None:
    """Once it has room the claimer is told, once."""
    reopened: list[bool] = []
    slots.kind_reopened = lambda: reopened.append(True)
    one, two, three = attempts(3, handler(concurrency=1))
    slots.ready.append(one)
    assert one is slots.next(entered(slots))
    assert () == slots.exclude_full_kinds()
    slots.ready.extend([two, three])
    assert slots.next(entered(slots)) is None
    assert ("work",) == slots.exclude_full_kinds()

    slots.record_end(one)
    assert [] == reopened  # one waits still
    assert two is slots.next(one.slot)
    slots.record_end(two)

    assert [True] == reopened
    assert () == slots.exclude_full_kinds()
    assert three is slots.next(two.slot)
    slots.record_end(three)
    assert [True] == reopened


def coroutine(concurrency: int | None = None) -> Handler:
    """Return a coroutine that does nothing."""
    return replace(handler(concurrency=concurrency), runs_on="loop")


def test_what_is_ready_leaves_the_loop_with_its_kind_and_waits_at_its_gate(
    slots: Slots,
) -> None:
    """It was claimed before the kind was found to block the loop."""
    (before,) = attempts(1, coroutine())
    one, two = attempts(2, coroutine())
    slots.ready.extend([before, one, two])
    assert before is slots.next(entered(slots))

    slots.moved = {"work": replace(coroutine(concurrency=1), runs_on="process")}
    slots.record_end(before)
    assert one is slots.next(before.slot)
    assert slots.next(entered(slots)) is None

    assert ["loop", "process", "process"] == [each.where for each in (before, one, two)]
    slots.record_end(one)
    assert two is slots.next(one.slot)
    slots.record_end(two)


def test_what_has_a_slot_and_has_not_begun_is_moved_as_well(slots: Slots) -> None:
    """Beyond the bound it waits, and its slot is the next one's; others stay."""
    one, two = attempts(2, coroutine())
    (other,) = attempts(1, replace(handler("other"), runs_on="loop"))
    slots.ready.extend([one, two, other])
    assert [one, two] == [slots.next(entered(slots)) for _ in range(2)]

    slots.moved = {"work": replace(coroutine(concurrency=1), runs_on="process")}

    assert one is slots.recheck(one)
    assert other is slots.recheck(two)
    assert other is slots.recheck(other)
    assert ["process", "process", "loop"] == [each.where for each in (one, two, other)]
    slots.record_end(one)
    assert two is slots.next(one.slot)


def test_what_is_within_its_kinds_bound_stays_within_it_when_moved(slots: Slots) -> None:
    """It passed its gate before."""
    (one,) = attempts(1, coroutine(concurrency=1))
    slots.ready.append(one)
    assert one is slots.next(entered(slots))

    slots.moved = {"work": replace(coroutine(concurrency=1), runs_on="process")}

    assert one is slots.recheck(one)
    assert "process" == one.where
    assert 0 == slots.slotless


def test_what_will_not_start_has_no_slot_to_give_back(slots: Slots) -> None:
    """Withdrawn or taken back: what waits at a gate, what was let in, and what is ready."""
    one, two, three, four = attempts(4, handler(concurrency=1))
    (last,) = attempts(1, handler("free"))
    slots.ready.extend([one, two, three, four])
    assert one is slots.next(entered(slots))
    assert slots.next(entered(slots)) is None

    assert [False, True] == [slots.withdraw(each) for each in (one, two)]
    slots.record_end(one)
    slots.ready.append(last)
    assert [last, four, three] == slots.take_unstarted()
    assert slots.next(one.slot) is None
    assert 2 == slots.free
    slots.ready.extend(attempts(1, handler(concurrency=1)))
    assert slots.next(entered(slots)) is not None


def test_a_new_deadline_reaches_the_table_only_while_the_attempt_runs(slots: Slots) -> None:
    """An attempt that has ended does not touch the record of the one that followed it."""
    one, two = attempts(2, handler())
    for attempt in (one, two):
        attempt.slot = 0
        slots.record_start(attempt, THREAD)
    one.deadline_us = two.deadline_us = 5

    slots.record_change(one, CANCELLED)
    assert [THREAD, 0] == [slots.cells[4], slots.cells[3]]

    slots.record_change(two, CANCELLED)
    assert [THREAD | CANCELLED, 5] == [slots.cells[4], slots.cells[3]]


def test_attempts_past_their_deadline_are_overdue_until_they_are_stopped() -> None:
    """An attempt is stopped once."""
    late, stopped, early = attempts(3, handler())
    late.deadline_us = stopped.deadline_us = 10
    early.deadline_us = 11
    stopped.stop = "timeout"

    assert (late,) == overdue([late, None, stopped, early], 10)


def test_a_gate_lets_in_as_many_as_it_says_and_the_next_when_one_leaves() -> None:
    """Attempts beyond `concurrency=` wait in order."""
    gates = ConcurrencyGates()
    one, two, three, four = attempts(4, handler(concurrency=2))

    assert [True, True, False, False] == [gates.enter(each) for each in (one, two, three, four)]
    assert three is gates.leave(one)
    assert [four] == gates.take_waiting()
    assert gates.leave(two) is None
    assert gates.leave(three) is None
    assert gates.enter(one)


def test_claimed_rows_that_are_not_to_run_end_at_once() -> None:
    """Cancelled and expired jobs, unknown kinds and orphans never reach a handler."""
    sorter = ClaimSorter({"work": handler()}, Sink())

    found = sorter.sort(
        [
            claimed(1, 11),
            claimed(2, 12, doomed="cancelled"),
            claimed(3, 13, doomed="expired"),
            claimed(4, 14, kind="wrok"),
            claimed(5, 15, doomed="gone"),
            claimed(6, 16, alone=True),
        ]
    )

    assert [11, 16] == tokens(found.to_run)
    assert ["thread", "quarantine"] == [attempt.where for attempt in found.to_run]
    assert [12, 13, 14] == tokens(found.ended)
    cancelled, expired, unhandled = (attempt.ending for attempt in found.ended)
    assert isinstance(cancelled, Finished)
    assert isinstance(expired, Finished)
    assert isinstance(unhandled, HandedBack)
    assert ["cancelled", "expired"] == [cancelled.outcome, expired.outcome]
    assert "unhandled" == unhandled.ended_as
    assert [(5, 15)] == found.orphans


def test_process_handlers_are_bounded_by_the_processors_unless_they_say_otherwise() -> None:
    """A process each: as many as there are processors."""
    tasks = fairlead.Tasks()
    tasks.handler("plain", process=True)(lambda _job: None)
    tasks.handler("wide", process=True, concurrency=100)(lambda _job: None)
    sorter = ClaimSorter(tasks.handlers, Sink())

    found = sorter.sort([claimed(1, 11, kind="plain"), claimed(2, 12, kind="wide")])

    bounds = [attempt.handler.concurrency for attempt in found.to_run]
    assert [os.cpu_count(), 100] == bounds
