"""Jobs in flight that have no slot, and get none, keep nobody from the slots that are free."""

from dataclasses import replace

from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from tests.support.fair_bench import Bench

LONG_MS, SLOTS = 5000, 20


def full_of_long_jobs() -> Bench:
    """Return a bench on which long jobs have all places: 18 of the 20 slots."""
    bench = Bench()
    settings = FairSettings(turn_us=0, short=ShortSettings())
    bench.order.apply(replace(CompiledPolicy(digest="kept"), settings=settings), 0)
    bench.add("q/long", *[LONG_MS] * 40)
    jobs = [job.id for job in bench.plan(slots=SLOTS)]
    bench.order.claimed(jobs, bench.now_us)
    assert 18 == len(jobs)
    return bench


def test_long_jobs_that_have_ended_and_are_locked_leave_their_places_to_others() -> None:
    """Their workers say that all slots are free. Two stay free of long jobs still."""
    bench = full_of_long_jobs()
    assert () == bench.plan(slots=SLOTS)

    bench.pool.note_workers(free=20, ahead=0, idle=20)

    assert 18 == len(bench.plan(slots=SLOTS))


def test_of_the_slots_that_are_idle_two_are_kept() -> None:
    """Three of five are free for long ones, once: what is picked takes them."""
    bench = full_of_long_jobs()

    bench.pool.note_workers(free=5, ahead=0, idle=5)

    assert 3 == len(bench.plan(slots=SLOTS))
    bench.pool.note_workers(free=5, ahead=0, idle=2)
    assert () == bench.plan(slots=SLOTS)
