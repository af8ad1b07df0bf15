"""Who is asked to make room for a lane that has waited without a slot, and when."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead_scheduler.ordering import late_charges
from fairlead_scheduler.ordering.eviction import (
    SLOTS_MAX,
    EvictionNeed,
    EvictionWatch,
    Holder,
    Waiting,
    choose,
)
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused, PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from tests.support.tables import weighing

S = 1_000_000
AFTER_US = 5 * S
FLOOD, QUIET, OTHER = ("q", "flood"), ("q", "quiet"), ("q", "other")


class Scene:
    """A pool whose rows are put in, and a watch over it."""

    def __init__(self, slots: int, table: CompiledPolicy | None = None, bands: int = 1) -> None:
        self.slots = slots
        self.router = Router("default", table)
        self.rows: list[QueueRow] = []
        self.watch = EvictionWatch()
        self.bands = bands

    def add(
        self,
        lane: tuple[str, str],
        jobs: int,
        *,
        claimed_us: int | None = None,
        vtag: int = 0,
        band: int = 0,
    ) -> list[int]:
        """Add rows: later ones were claimed a microsecond later, or have tags one higher."""
        first = len(self.rows) + 1
        for place in range(jobs):
            at_us = None if claimed_us is None else claimed_us + place
            charged = (vtag + place, S)
            row = QueueRow(first + place, *lane, *charged, at_us, band, "default")
            self.rows.append(row)
        self.router.adopt(self.rows, 0, {"default": (0,) * self.bands}, ())
        self.router.plan(0, {"default": PoolSize(self.slots, 0)}, Heads())
        return [*range(first, first + jobs)]

    def observe(self, now_us: int) -> None:
        """Look."""
        self.watch.observe(self.router.served[0].ledgers, now_us)

    def need(
        self,
        now_us: int,
        *,
        free: int = 0,
        passed_over: Sequence[int] = (),
        paused: Paused = NOTHING_PAUSED,
    ) -> EvictionNeed | None:
        """Look, and return what is needed then."""
        self.observe(now_us)
        return self.watch.need(
            "default",
            self.router.served[0].ledgers,
            now_us,
            after_us=AFTER_US,
            slots=self.slots,
            free=free,
            passed_over=passed_over,
            paused=paused,
        )

    def asked(self, ids: Sequence[int], now_us: int) -> None:
        """Note that these were asked to stop."""
        self.watch.asked(ids, self.router.served[0].ledgers, now_us)


def flooded() -> tuple[Scene, list[int]]:
    """Return a scene of four slots that one lane has, with a row of another, and the jobs."""
    scene = Scene(slots=4)
    jobs = scene.add(FLOOD, 4, claimed_us=0)
    scene.add(QUIET, 1, vtag=5)
    scene.observe(0)
    return scene, jobs


def test_a_lane_without_a_slot_needs_one_when_it_has_waited_for_long_enough() -> None:
    """Not sooner; from the lane that has them all, the last claimed first."""
    scene, jobs = flooded()

    assert scene.need(AFTER_US - 1) is None
    assert scene.need(AFTER_US) == EvictionNeed(
        "default",
        1,
        (Waiting(QUIET, 0, AFTER_US),),
        (Holder(FLOOD, 0, 4, 2.0, tuple(reversed(jobs))),),
    )


def test_a_lane_that_runs_something_does_not_wait() -> None:
    """It waits anew from the end of that."""
    scene, _ = flooded()
    (running,) = scene.add(QUIET, 1, claimed_us=0)
    assert scene.need(AFTER_US) is None

    scene.router.ended([running], [S])

    assert scene.need(AFTER_US) is None
    assert scene.need(2 * AFTER_US) is not None


def test_rows_of_lanes_beyond_their_shares_do_not_go_before_it() -> None:
    """They are recalled, and queued anew behind it; rows behind it may stay."""
    scene, _ = flooded()
    before = scene.add(FLOOD, 2, vtag=0)
    scene.add(FLOOD, 2, vtag=8)

    need = scene.need(AFTER_US)

    assert need is not None
    assert (1, 1, tuple(before)) == (need.slots, len(need.waiting), need.recalled)


def test_rows_of_other_lanes_before_it_get_slots_too() -> None:
    """By the fair order they get the first ones: one that waits for less long, for example."""
    scene, _ = flooded()
    scene.add(OTHER, 2, vtag=0)
    scene.watch.observe(scene.router.served[0].ledgers, 1)

    need = scene.need(AFTER_US)

    assert need is not None
    assert (3, [QUIET], ()) == (
        need.slots,
        [each.lane for each in need.waiting],
        need.recalled,
    )


def test_a_lane_whose_turn_is_far_off_needs_nothing() -> None:
    """By the fair order others get the slots that become free."""
    scene, _ = flooded()
    scene.add(OTHER, SLOTS_MAX, vtag=0)

    assert scene.need(AFTER_US) is None


def test_rows_that_wait_for_their_kinds_are_not_in_the_way() -> None:
    """No worker has room for them, and a slot would not help them."""
    scene, _ = flooded()
    (passed_over,) = scene.add(OTHER, 1, vtag=0)
    scene.observe(0)

    need = scene.need(AFTER_US, passed_over=[passed_over])

    assert need is not None
    assert [QUIET] == [each.lane for each in need.waiting]
    assert 1 == need.slots


def test_no_slot_is_needed_while_one_is_free() -> None:
    """A worker is about to claim the row."""
    scene, _ = flooded()

    assert scene.need(AFTER_US, free=1) is None


def test_rows_that_are_paused_need_nothing() -> None:
    """They are about to be recalled."""
    scene, _ = flooded()

    assert scene.need(AFTER_US, paused=frozenset({QUIET})) is None
    assert scene.need(AFTER_US, paused=frozenset({("q", None)})) is None
    assert scene.need(AFTER_US) is not None


def test_a_lane_that_waits_for_a_long_jobs_slot_needs_one_though_slots_are_free() -> None:
    """Those are kept for short jobs."""
    short = ShortSettings(per_10_000=0, lowest=1, shorter_us=2 * S)
    scene = Scene(4, CompiledPolicy(settings=FairSettings(short=short)))
    scene.add(FLOOD, 3, claimed_us=0)
    late_charges.charge_running(scene.router.ledgers[0], 10 * S)
    heads = Heads(in_flight=scene.router.in_flight)
    heads.record_scan()
    heads.discovered([PendingJob(99, 99, *QUIET, 0, 60 * S, 10 * S)])
    scene.router.plan(10 * S, {"default": PoolSize(4, 1)}, heads)
    scene.observe(10 * S)

    need = scene.need(10 * S + AFTER_US, free=1)

    assert need is not None
    assert (1, [QUIET]) == (need.slots, [each.lane for each in need.waiting])
    assert [3] == chosen(need, [1, 2, 3])


def test_a_lane_whose_job_has_no_room_in_the_queue_needs_a_slot() -> None:
    """Rows of a lane beyond its share fill it; they are recalled."""
    scene = Scene(4)
    scene.add(FLOOD, 4, claimed_us=0)
    rows = scene.add(FLOOD, 12, vtag=0)
    heads = Heads(in_flight=scene.router.in_flight)
    heads.record_scan()
    heads.discovered([PendingJob(99, 99, *QUIET, 0, S, 0)])
    scene.router.plan(0, {"default": PoolSize(4, 8)}, heads)
    scene.observe(0)

    need = scene.need(AFTER_US)

    assert 99 not in scene.router.in_flight
    assert need is not None
    assert (1, [QUIET], tuple(rows)) == (
        need.slots,
        [each.lane for each in need.waiting],
        need.recalled,
    )


def test_each_waiting_lane_gets_one_slot_however_many_rows_it_has() -> None:
    """More come to it by the fair order."""
    scene, _ = flooded()
    scene.add(QUIET, 3, vtag=6)

    need = scene.need(AFTER_US)

    assert need is not None
    assert (1, [QUIET]) == (need.slots, [each.lane for each in need.waiting])


def test_slots_of_those_that_were_asked_already_are_not_needed_again() -> None:
    """Until they have stopped, and the lane waits all the same."""
    scene, jobs = flooded()
    assert scene.need(AFTER_US) is not None

    scene.asked(jobs[-1:], AFTER_US)

    assert scene.need(AFTER_US + S) is None
    scene.router.ended(jobs[-1:], [S])
    assert scene.need(AFTER_US + 2 * S) is not None


def test_one_that_was_asked_and_runs_on_is_not_waited_for_for_ever() -> None:
    """Its worker may be frozen: others may be asked after a minute."""
    scene, jobs = flooded()
    scene.asked(jobs[-1:], AFTER_US)

    assert scene.need(AFTER_US + 59 * S) is None
    assert scene.need(AFTER_US + 60 * S) is not None


def test_shares_follow_the_weights_of_queues_and_tenants_that_have_work() -> None:
    """Those of a queue share what it is entitled to."""
    table = weighing({("q", None): 3.0, ("q", "flood"): 3.0})
    scene = Scene(8, table)
    scene.add(FLOOD, 4, claimed_us=0)
    scene.add(OTHER, 2, claimed_us=0)
    scene.add(("r", "x"), 2, claimed_us=0)
    scene.add(("s", "quiet"), 1, vtag=1)
    scene.observe(0)

    need = scene.need(AFTER_US)

    assert need is not None
    total = 3.0 + 1.0 + 1.0
    assert {
        FLOOD: 8 * 3 / total * 3 / 4,
        OTHER: 8 * 3 / total * 1 / 4,
        ("r", "x"): 8 * 1 / total,
    } == pytest.approx({each.lane: each.share for each in need.holders})


def needing(slots: int, *holders: Holder, band: int = 0) -> EvictionNeed:
    """Return a need of so many slots for one lane."""
    return EvictionNeed("default", slots, (Waiting(QUIET, band, AFTER_US),), holders)


def chosen(need: EvictionNeed, evictable: Sequence[int]) -> list[int]:
    """Return who is asked, when these agreed."""
    victims = choose(need, {job_id: 100 + job_id for job_id in evictable})
    assert all(each.token == 100 + each.job_id for each in victims)
    return [each.job_id for each in victims]


def test_the_last_claimed_of_those_that_agreed_is_asked() -> None:
    """It loses least work; one that did not agree is left alone."""
    need = needing(1, Holder(FLOOD, 0, 4, 2.0, (4, 3, 2, 1)))

    assert [3] == chosen(need, [1, 2, 3])
    assert [] == chosen(need, [])


def test_no_lane_is_left_with_less_than_its_share() -> None:
    """However many slots are needed."""
    assert [4, 3] == chosen(needing(4, Holder(FLOOD, 0, 4, 2.0, (4, 3, 2, 1))), [1, 2, 3, 4])
    assert [] == chosen(needing(4, Holder(FLOOD, 0, 4, 3.5, (4, 3, 2, 1))), [1, 2, 3, 4])


def test_lanes_give_in_the_order_of_what_they_have_for_their_shares() -> None:
    """The lane with most slots for its weight gives first, even if others have more."""
    many, heavy = Holder(FLOOD, 0, 3, 1.0, (3, 2, 1)), Holder(OTHER, 0, 6, 4.0, (9, 8, 7))

    assert [3, 2, 9] == chosen(needing(3, many, heavy), [1, 2, 3, 7, 8, 9])


def test_bands_below_give_first_and_bands_above_never() -> None:
    """The order between bands is strict: below, no share is kept."""
    above, same = Holder(FLOOD, 0, 2, 0.5, (2, 1)), Holder(OTHER, 1, 2, 1.0, (4, 3))
    below = Holder(("q", "late"), 2, 1, 1.0, (5,))

    assert [5, 4] == chosen(needing(4, above, same, below, band=1), [1, 2, 3, 4, 5])


def test_the_lower_band_has_a_share_of_what_the_bands_above_leave() -> None:
    """Slots of the bands above are none of its own."""
    scene = Scene(4, bands=2)
    scene.add(FLOOD, 3, claimed_us=0)
    scene.add(OTHER, 1, claimed_us=0, band=1)
    scene.add(QUIET, 1, vtag=1)
    scene.observe(0)

    need = scene.need(AFTER_US)

    assert need is not None
    assert {(FLOOD, 0): 2.0, (OTHER, 1): 1.0} == {
        (each.lane, each.band): each.share for each in need.holders
    }


@given(
    holders=st.lists(st.tuples(st.integers(0, 6), st.floats(0.1, 6), st.integers(0, 2))),
    band=st.integers(0, 2),
    slots=st.integers(1, SLOTS_MAX),
)
def test_whatever_is_needed_shares_and_bands_above_are_kept(
    holders: list[tuple[int, float, int]], band: int, slots: int
) -> None:
    """No more are asked than are needed, nobody twice, and no lane loses its share."""
    lanes = [
        Holder(("q", f"t{n}"), of, running, share, tuple(range(100 * n, 100 * n + running)))
        for n, (running, share, of) in enumerate(holders)
    ]
    agreed = [job_id for each in lanes for job_id in each.attempts if job_id % 3]

    asked = chosen(needing(slots, *lanes, band=band), agreed)

    assert len(asked) <= slots
    assert len(asked) == len({*asked}.intersection(agreed))
    for lane in lanes:
        lost = len({*asked}.intersection(lane.attempts))
        assert not lost or lane.band >= band
        assert not lost or lane.band > band or lane.running - lost >= lane.share - 1e-6
