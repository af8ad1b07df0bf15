"""Newcomers of a level: when they have their first turns, and from when on they compete."""

from tests.support.clock import LATE, MS, Bench


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


def test_names_of_the_first_moments_go_at_their_rate_once_these_are_over() -> None:
    """They have the slots of half a second, and cost one with work no share of its own."""
    bench = Bench(1.0)
    bench.time.pass_to(1)
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)
    assert {0} == {newcomer.start for newcomer in names}
    bench.serve(0, 10 * MS)
    assert bench.time.now == 10 * MS
    assert [] == bench.time.postpone()

    bench.time.pass_to(600 * MS)
    later = bench.time.postpone()

    assert names == later
    assert [each.start // MS for each in later[:4]] == [10, 210, 410, 610]


def test_one_with_several_jobs_competes_from_the_first_moment_on() -> None:
    """Also if it was taken for a name until its jobs were read, but not while it is blocked."""
    bench = Bench(1.0)
    bench.time.pass_to(1)
    read_later, blocked, at_once = bench.add(), bench.add(), bench.add()
    bench.time.enter(read_later, LATE)
    bench.time.enter(blocked, LATE)
    bench.time.leave(blocked)
    bench.time.enter(at_once, LATE, has_several=True)
    bench.time.hasten(read_later, waits=True)
    bench.time.hasten(blocked, waits=False)

    competing = [each.service.competes for each in (read_later, blocked, at_once)]
    assert competing == [True, False, True]
    bench.serve(0, 30 * MS)
    assert bench.time.now == 10 * MS


def test_names_that_come_where_nobody_is_known_go_after_one_with_several_jobs() -> None:
    """As in a queue that a policy names and that nobody has used: whoever begins first."""
    bench = Bench()
    bench.time.pass_to(1)
    bench.time.pass_to(1000 * MS)
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)
    assert [newcomer.service.competes for newcomer in names[:2]] == [True, False]
    bench.time.pass_to(1010 * MS)
    begins = bench.add()

    bench.time.enter(begins, LATE, has_several=True)
    later = bench.time.postpone()

    assert begins.start == 0
    assert names[1:] == later
    assert later[-1].start > 38 * 100 * MS


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


def test_one_that_comes_back_goes_before_names_that_were_put_off_anew() -> None:
    """Their first turns are far off, and none of them is known to have several jobs."""
    bench = Bench(1.0)
    known = bench.members[0]
    bench.acquaint()
    bench.serve(0, 100 * MS)
    bench.time.leave(known)
    bench.time.pass_to(2000 * MS)
    bench.time.follow()
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)
    for newcomer in names:
        newcomer.start += 1000 * MS
    bench.time.enter(known, LATE)
    assert names[1:] == bench.time.postpone()

    bench.time.hasten(names[-1], waits=True)

    assert bench.time.now == names[-1].start


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


def test_a_wave_waits_for_none_of_its_own_though_a_name_left_when_all_were_new() -> None:
    """It was cancelled in the first half second; others are known by now, and idle."""
    bench = Bench(1.0)
    bench.time.pass_to(1)
    cancelled = bench.add()
    bench.time.enter(cancelled, LATE)
    bench.time.leave(cancelled)
    bench.time.pass_to(1000 * MS)
    for _ in range(2):
        bench.serve(0, 100 * MS)
    bench.time.leave(bench.members[0])
    bench.time.pass_to(5000 * MS)
    bench.time.lift()
    wave = [bench.add(start=bench.time.now) for _ in range(40)]
    for newcomer in wave:
        bench.time.enter(newcomer, LATE, has_several=True)
    bench.time.pass_to(5100 * MS)
    bench.serve(wave[0].index, 1)

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
    assert bench.time.hasten(names[-1], waits=True)
    assert names[-1].start == 0
    assert not bench.time.hasten(names[-1], waits=True)


def test_where_nobody_is_known_those_with_several_jobs_go_before_single_jobs() -> None:
    """Those compete at once, and a single job from its first turn on."""
    bench = Bench(1.0)
    bench.time.pass_to(1)
    bench.time.pass_to(1000 * MS)
    single, several, known_later = bench.add(), bench.add(), bench.add()
    bench.time.enter(single, LATE)
    bench.time.enter(several, LATE, has_several=True)
    bench.time.enter(known_later, LATE)
    bench.time.hasten(known_later, waits=True)

    assert [each.start for each in (single, several, known_later)] == [100 * MS, 0, 0]
    assert [each.service.competes for each in (single, several, known_later)] == [
        False,
        True,
        True,
    ]
    single.start += bench.time.begin_turn(single)
    assert (single.start, single.service.competes) == (0, True)


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


def test_a_newcomer_that_competes_after_it_was_blocked_is_put_off_no_more() -> None:
    """V has reached its tag meanwhile; later it is known, and its turns are its own."""
    bench = Bench(1.0)
    bench.time.pass_to(1)
    names = [bench.add() for _ in range(40)]
    for newcomer in names:
        bench.time.enter(newcomer, LATE)
    blocked = names[0]
    bench.time.leave(blocked)
    bench.serve(0, 10 * MS)
    bench.time.enter(blocked, LATE)
    assert blocked.service.competes
    for _ in range(3):
        bench.serve(blocked.index, 1 * MS)

    bench.time.pass_to(600 * MS)
    later = bench.time.postpone()

    assert names[1:] == later
    assert blocked.start == 13 * MS


def test_a_newcomer_that_was_not_put_off_competes_again_after_it_was_blocked() -> None:
    """Also if it was lifted meanwhile, as lanes are that wait for a place."""
    bench = Bench(1.0, 1.0)
    newcomer = bench.members[1]
    bench.time.leave(newcomer)
    newcomer.start += 100 * MS

    bench.time.enter(newcomer, LATE)

    assert newcomer.service.competes
