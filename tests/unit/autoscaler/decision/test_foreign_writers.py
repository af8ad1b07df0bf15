"""Others who write the pool's replicas are named, and not fought."""

from dataclasses import replace
from datetime import datetime

import pytest

from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.inputs import Inputs
from fairlead_autoscaler.decision.reasons import Reason
from fairlead_autoscaler.decision.result import Decision, State
from tests.support.autoscaling import NOW, demand, look, pool, seconds, workload

BUSY = 100_000.0


def at(replicas: int, version: str, now: datetime = NOW, owner: str | None = None) -> Inputs:
    """Return the inputs at a busy pool of so many pods."""
    return replace(
        look(replicas, demand(now, work=BUSY)),
        now=now,
        cluster_at=now,
        workload=replace(workload(replicas, version), owner=owner),
    )


def wrote() -> Decision:
    """Return the decision that asked for a hundred pods, from zero."""
    return decide(State(), at(0, "1"), pool())


def test_our_own_write_is_no_conflict() -> None:
    """Nor is a look that is older than it."""
    first = wrote()
    early = decide(first.state, at(0, "1", NOW + seconds(1)), pool())
    late = decide(first.state, at(100, "2", NOW + seconds(5)), pool())

    assert (100, None, None) == (first.scale, early.scale, late.scale)
    assert () == (*early.forbidden, *late.forbidden)


def test_a_foreign_write_is_left_alone_for_a_minute() -> None:
    """It is named; then the pool gets what it needs again."""
    state = wrote().state
    seen = [
        decide(state, at(3, "2", NOW + seconds(5)), pool()),
    ]
    for after in (60, 66):
        seen.append(decide(seen[-1].state, at(3, "2", NOW + seconds(after)), pool()))

    assert [None, None, 11] == [each.scale for each in seen]
    assert [(Reason.FOREIGN_WRITER,)] * 2 + [()] == [each.forbidden for each in seen]


def test_a_writer_that_comes_again_is_left_alone_for_twice_as_long() -> None:
    """Two writers do not tear a pool to and fro."""
    state = decide(wrote().state, at(3, "2", NOW + seconds(5)), pool()).state
    state = decide(state, at(3, "2", NOW + seconds(66)), pool()).state
    again = decide(state, at(3, "4", NOW + seconds(70)), pool())
    later = decide(again.state, at(3, "4", NOW + seconds(189)), pool())
    free = decide(later.state, at(3, "4", NOW + seconds(191)), pool())

    assert (None, None, 11) == (again.scale, later.scale, free.scale)


def test_an_owner_who_wrote_what_we_wrote_is_named_once() -> None:
    """The field belongs to another: that is seen, though the number is ours."""
    state = wrote().state
    seen = decide(state, at(100, "2", NOW + seconds(5), "kubectl"), pool())
    after = decide(seen.state, at(100, "2", NOW + seconds(66), "kubectl"), pool())

    assert ((Reason.FOREIGN_WRITER,), ()) == (seen.forbidden, after.forbidden)


def test_nothing_is_written_while_another_autoscaler_has_the_pool() -> None:
    """For as long as it is there."""
    inputs = at(0, "1")
    hpa = replace(inputs, autoscalers=("hpa",))
    found = decide(State(), hpa, pool())

    assert (None, Reason.FOREIGN_AUTOSCALER) == (found.scale, found.reason)


def test_a_write_that_failed_is_made_again() -> None:
    """It was refused, or its outcome is unknown: what is there counts, and is no conflict."""
    first = wrote()
    failed = replace(at(0, "2", NOW + seconds(5)), write_failed=True)
    again = decide(first.state, failed, pool())

    assert (100, ()) == (again.scale, again.forbidden)


def test_a_foreign_write_that_ours_lost_against_is_seen() -> None:
    """It leaves no name, and ours was refused for it: what stood there before is remembered."""
    first = wrote()
    lost = replace(at(3, "2", NOW + seconds(5)), write_failed=True)
    found = decide(first.state, lost, pool())

    assert (None, Reason.FOREIGN_WRITER) == (found.scale, found.reason)


def test_a_controller_that_has_just_begun_sees_the_next_foreign_write() -> None:
    """It wrote nothing itself yet: what it found there is what a foreign write differs from."""
    first = decide(State(), look(5), pool(min=5))
    found = decide(first.state, at(3, "2", NOW + seconds(5)), pool(min=5))

    assert (None, None) == (first.scale, found.scale)
    assert Reason.FOREIGN_WRITER is found.reason


@pytest.mark.parametrize("later", [BUSY, 700.0])
def test_a_write_whose_answer_was_lost_is_ours_whenever_it_shows(later: float) -> None:
    """Though another one was tried meanwhile, and refused because of it."""
    first = wrote()
    unseen = at(0, "1", NOW + seconds(5))
    row = demand(unseen.now, work=later)
    again = decide(first.state, replace(unseen, write_failed=True, demand=row), pool())
    assert again.scale is not None
    shown = replace(at(100, "2", NOW + seconds(10)), write_failed=True)
    found = decide(again.state, shown, pool())

    assert () == found.forbidden
