"""Virtual time: the mean service of those that compete."""

from dataclasses import dataclass, field

import pytest

from fairlead_scheduler.ordering.levels.service import Service
from fairlead_scheduler.ordering.levels.virtual_time import VirtualTime

LATE = 1 << 60
MS = 1000


@dataclass(eq=False)
class Member:
    """A member of a level."""

    weight: float = 1.0
    start: int = 0
    index: int = 0
    service: Service = field(default_factory=lambda: Service(0))


class Bench:
    """Members that wait from the start, and their clock."""

    def __init__(self, *weights: float) -> None:
        self.members = [Member(weight, index=place) for place, weight in enumerate(weights)]
        self.time: VirtualTime[Member] = VirtualTime(self.members, 100 * MS)
        for member in self.members:
            self.time.enter(member, LATE)

    def add(self, weight: float = 1.0, *, start: int = 0) -> Member:
        """Return another member, which does not wait."""
        member = Member(weight, start, len(self.members), Service(start))
        self.members.append(member)
        return member

    def acquaint(self) -> None:
        """Let those that wait be known, and the level be no new one."""
        self.time.pass_to(1)
        self.time.pass_to(1000 * MS)
        for member in self.members:
            self.time.begin_turn(member)

    def serve(self, place: int, run_us: int) -> None:
        """Let a member have one job, charged as what it ran."""
        member = self.members[place]
        member.start += self.time.begin_turn(member)
        self.time.charge(member, run_us)
        self.time.serve(member, 0, run_us)
        self.time.follow()


def test_it_advances_by_service_over_the_weight_of_those_that_compete() -> None:
    """A claim that was not served moves it by nothing."""
    bench = Bench(1.0, 3.0)

    bench.time.charge(bench.members[1], 3600 * 1000 * MS)
    bench.time.follow()
    assert bench.time.now == 0

    bench.serve(0, 40 * MS)
    assert bench.time.now == 10 * MS


def test_it_advances_while_a_job_runs() -> None:
    """By the time that passes, without an event of that job."""
    bench = Bench(1.0, 1.0)
    bench.time.serve(bench.members[0], 1, 0)

    bench.time.pass_to(20 * MS)
    bench.time.follow()

    assert bench.time.now == 10 * MS


def test_a_member_that_was_served_early_competes_until_the_others_had_as_much() -> None:
    """Otherwise the clock would run ahead of those that wait their first time."""
    bench = Bench(1.0, 1.0)
    first, second = bench.members
    bench.serve(0, 100 * MS)
    bench.time.leave(first)

    bench.serve(1, 50 * MS)
    assert (bench.time.now, first.service.competes) == (75 * MS, True)

    bench.serve(1, 50 * MS)
    assert (bench.time.now, first.service.competes) == (100 * MS, False)
    bench.serve(1, 10 * MS)
    assert (bench.time.now, second.start) == (110 * MS, 110 * MS)


def test_one_that_begins_to_wait_goes_first_and_pays_from_now_on() -> None:
    """To be early is no credit: after its turn it stands where it would without."""
    bench = Bench(1.0, 1.0)
    bench.serve(0, 100 * MS)
    newcomer = bench.add()

    bench.time.enter(newcomer, 0)
    assert newcomer.start == 0

    newcomer.start += bench.time.begin_turn(newcomer)
    assert newcomer.start == bench.time.now == 50 * MS


def test_one_that_is_ahead_stays_there() -> None:
    """It had its share already."""
    bench = Bench(1.0)
    ahead = bench.add(start=70 * MS)

    bench.time.enter(ahead, 0)

    assert (ahead.start, ahead.service.debt) == (70 * MS, 0)


@pytest.mark.parametrize(("lag_ms", "start_ms"), [(0, 40), (30, 10), (200, 0)])
def test_a_refund_goes_back_to_the_largest_lag_behind(lag_ms: int, start_ms: int) -> None:
    """What a member did not use because it claimed too much is not owed to it later."""
    bench = Bench(1.0, 1.0)
    claims = bench.members[0]
    claims.start += bench.time.begin_turn(claims)
    bench.time.charge(claims, 500 * MS)
    bench.serve(1, 80 * MS)

    bench.time.charge(claims, -500 * MS, claimed_us=500 * MS, behind_max=lag_ms * MS)

    assert (bench.time.now, claims.start) == (40 * MS, start_ms * MS)


def test_an_estimate_is_refunded_whole() -> None:
    """What evidence made too much is no claim; a lane of many jobs has such all the time."""
    bench = Bench(1.0, 1.0)
    behind = bench.members[0]
    behind.start += bench.time.begin_turn(behind)
    bench.time.charge(behind, 500 * MS)
    bench.serve(1, 80 * MS)

    bench.time.charge(behind, -499 * MS)

    assert behind.start == 1 * MS


def test_one_that_was_behind_at_its_turn_is_refunded_to_there() -> None:
    """It waited for a slot then, and not because of its claim."""
    bench = Bench(1.0, 1.0)
    bench.serve(1, 80 * MS)
    behind = bench.members[0]
    behind.start += bench.time.begin_turn(behind)
    bench.time.charge(behind, 500 * MS)

    bench.time.charge(behind, -499 * MS, claimed_us=499 * MS)

    assert behind.start == 1 * MS


def test_when_nothing_waits_it_is_lifted_to_what_was_had() -> None:
    """Capacity that no other member wanted counts against none."""
    bench = Bench(1.0)
    bench.serve(0, 900 * MS)
    late = bench.add()
    bench.time.leave(bench.members[0])
    bench.time.lift()

    bench.time.enter(late, LATE)

    assert late.start == bench.time.now == 900 * MS


def test_more_newcomers_than_some_have_their_first_turns_one_after_the_other() -> None:
    """As many at once as may; each later one two jobs later, because half are for others."""
    bench = Bench(1.0, 1.0)
    for place in (0, 1):
        bench.serve(place, 100 * MS)
        bench.time.leave(bench.members[place])
    bench.time.follow()
    for member in bench.members:
        bench.time.enter(member, LATE)
    bench.acquaint()
    now_us = bench.time.now

    tags: list[int] = []
    for _ in range(20):
        newcomer = bench.add()
        bench.time.enter(newcomer, LATE)
        tags.append(newcomer.start - now_us)

    assert tags[:8] == [0] * 8
    assert tags[8:] == [100 * MS * turn for turn in range(1, 24, 2)]


def test_nobody_is_put_off_where_all_are_new() -> None:
    """After a take-over thousands are unknown, and none of them is a spray of names."""
    bench = Bench(1.0)
    bench.time.pass_to(1)
    bench.time.begin_turn(bench.members[0])
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)

    assert {0} == {newcomer.start for newcomer in names}


def test_nobody_is_put_off_where_nobody_is_known() -> None:
    """There is nobody whose slots they would take."""
    bench = Bench()
    bench.time.pass_to(1)
    bench.time.pass_to(1000 * MS)
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE, has_several=True)

    assert {0} == {newcomer.start for newcomer in names}


def test_names_that_come_while_known_members_are_idle_go_after_one_that_begins() -> None:
    """They may have all slots meanwhile, and in the order in which they came."""
    bench = Bench(1.0)
    known = bench.members[0]
    bench.acquaint()
    bench.serve(0, 100 * MS)
    bench.time.leave(known)
    bench.time.pass_to(2000 * MS)
    bench.time.follow()
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE, has_several=True)
    assert {bench.time.now} == {newcomer.start for newcomer in names}

    bench.time.enter(known, LATE)
    later = bench.time.postpone()

    assert known.start == bench.time.now
    assert [each.start - known.start for each in later[:4]] == [0, 0, 200 * MS, 200 * MS]
    assert names[1:] == later


def test_one_that_is_known_only_since_the_names_came_does_not_go_before_them() -> None:
    """It is a customer of the same wave; the others wait for their first turns."""
    bench = Bench(1.0)
    bench.acquaint()
    bench.serve(0, 100 * MS)
    bench.time.leave(bench.members[0])
    bench.time.follow()
    wave = [bench.add() for _ in range(40)]
    bench.time.pass_to(2000 * MS)
    for newcomer in wave:
        bench.time.enter(newcomer, LATE, has_several=True)
    first = wave[0]
    bench.serve(first.index, 1)
    bench.time.leave(first)
    bench.time.pass_to(3000 * MS)
    bench.time.enter(first, LATE)

    assert [] == bench.time.postpone()


def test_first_turns_are_later_where_first_jobs_take_longer_than_when_they_were_promised() -> (
    None
):
    """Two thousand names of one INSERT are promised turns before any of their jobs ends."""
    bench = Bench(1.0)
    bench.acquaint()
    bench.serve(0, 100 * MS)
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)
    promised = names[-1].start - names[-2].start
    assert [] == bench.time.postpone()

    guest = names[0]
    guest.start += bench.time.begin_turn(guest)
    bench.time.learn(16 * 1000 * MS, 16, guest, 200)
    later = bench.time.postpone()

    assert names[-1] is later[-1]
    assert names[-1].start - names[-2].start > 5 * promised
    assert [] == bench.time.postpone()


def test_a_known_member_that_is_forgotten_puts_nobody_off() -> None:
    """What is known of it goes with it."""
    bench = Bench(1.0)
    known = bench.members[0]
    bench.acquaint()
    bench.serve(0, 100 * MS)
    bench.time.leave(known)
    bench.time.lift()
    bench.time.forget(known)
    names = [bench.add(start=bench.time.now) for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE, has_several=True)

    assert all(newcomer.service.competes for newcomer in names)


def test_a_newcomer_of_little_weight_costs_those_after_it_no_more_than_another() -> None:
    """Its own first turn is far away; theirs are not behind it."""
    bench = Bench(1.0)
    bench.acquaint()
    light, other = [bench.add(0.001) for _ in range(3)], bench.add()
    for newcomer in (*light, other):
        bench.time.enter(newcomer, LATE)

    assert [member.start > 100_000 * MS for member in light] == [False, True, True]
    assert other.start == 0


def test_a_newcomer_that_turns_out_to_have_several_jobs_does_not_wait_for_names() -> None:
    """A name costs nothing, and its second job an INSERT."""
    bench = Bench(1.0)
    bench.acquaint()
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)

    assert names[-1].start > 0
    assert bench.time.hasten(names[-1])
    assert names[-1].start == 0
    assert not bench.time.hasten(names[-1])


def test_where_nobody_is_known_those_with_several_jobs_go_before_single_jobs() -> None:
    """None of them competes later for it, so that V does not run ahead of those that wait."""
    bench = Bench(1.0)
    bench.time.pass_to(1)
    bench.time.pass_to(1000 * MS)
    single, several, known_later = bench.add(), bench.add(), bench.add()
    bench.time.enter(single, LATE)
    bench.time.enter(several, LATE, has_several=True)
    bench.time.enter(known_later, LATE)
    bench.time.hasten(known_later)

    assert [each.start for each in (single, several, known_later)] == [100 * MS, 0, 0]
    assert all(each.service.competes for each in (single, several, known_later))
    single.start += bench.time.begin_turn(single)
    assert single.start == 0


def test_a_newcomer_that_is_blocked_meanwhile_keeps_its_place() -> None:
    """It is not put off anew, and takes no turn of another."""
    bench = Bench(1.0)
    bench.acquaint()
    names = [bench.add() for _ in range(20)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)
    before = names[-1].start

    bench.time.leave(names[-1])
    bench.time.enter(names[-1], LATE)

    assert (names[-1].start, names[-1].service.competes) == (before, False)


def test_a_newcomer_that_is_put_off_competes_from_its_first_turn_on() -> None:
    """Those that have waited since before do not pay for its name."""
    bench = Bench(1.0)
    bench.acquaint()
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)
    last = names[-1]
    assert (last.service.competes, last.start > 0) == (False, True)

    last.start += bench.time.begin_turn(last)

    assert (last.service.competes, last.start) == (True, bench.time.now)


def test_a_newcomer_that_was_not_put_off_competes_again_after_it_was_blocked() -> None:
    """Also if it was lifted meanwhile, as lanes are that wait for a place."""
    bench = Bench(1.0, 1.0)
    newcomer = bench.members[1]
    bench.time.leave(newcomer)
    newcomer.start += 100 * MS

    bench.time.enter(newcomer, LATE)

    assert newcomer.service.competes


def test_another_weight_keeps_what_was_charged_beyond_it_in_slot_time() -> None:
    """A debt that takes a light member minutes takes a heavy one as long as it should."""
    bench = Bench(1.0, 1.0)
    bench.serve(0, 100 * MS)
    heavy = bench.members[0]

    bench.time.reweigh(heavy, 5.0)

    assert bench.time.now == 50 * MS
    assert (heavy.start, heavy.service.attained) == (60 * MS, 60 * MS)
