"""Attacks on the fair order by tenants that can only insert, beside honest tenants.

What an attacker chooses is queue, tenant, time, run time, hint and priority. Each scene has the
truth as well: the same work, or what an honest tenant would insert in its place.
"""

from collections.abc import Callable
from dataclasses import replace

from tests.support.attacked_fleet import (
    MS,
    SECOND,
    SLOTS,
    Arrival,
    Arrivals,
    Scene,
    by_login,
    by_tenant,
)
from tests.support.fleet import Key

MINUTE = 60 * SECOND
MONTH = 30 * 24 * 60 * MINUTE
LONG_US = 15 * SECOND
"""How long a long job takes."""
LIAR, QUIET = ("q", "liar"), ("q", "quiet")
VICTIMS = (("q", "a"), ("q", "b"))


def claimed_before_others_wake(hint_us: int) -> Scene:
    """Return one that hints huge costs while alone, and nothing once others have work."""
    wake_us = 500 * MS
    after = backlog(LIAR, SECOND, 300, at_us=wake_us)
    return Scene(
        seconds=12,
        honest=victims(12, from_us=wake_us) + quiet_jobs(QUIET, 12),
        attack=backlog(LIAR, SECOND, 60, hint_us=hint_us) + after,
        truth=backlog(LIAR, SECOND, 60) + after,
        busy=VICTIMS,
        quiet=(QUIET,),
    )


def long_jobs_before_short_ones() -> Scene:
    """Return one without hints: its short jobs are charged as the long ones before them."""
    wake_us = 15_100 * MS
    after = backlog(LIAR, 200 * MS, 2400, at_us=1)
    return Scene(
        seconds=30,
        honest=victims(30, from_us=wake_us) + quiet_jobs(QUIET, 30, from_us=wake_us),
        attack=backlog(LIAR, 5 * SECOND, 60) + after,
        truth=after,
        busy=VICTIMS,
        quiet=(QUIET,),
    )


def claimed_in_a_shared_queue(hint_us: int) -> Scene:
    """Return one with a single long job that hints more, in a queue beside another busy one."""
    long = backlog(LIAR, 25 * SECOND, 1, at_us=500 * MS)
    return Scene(
        seconds=24,
        honest=victims(24) + backlog(("r", "c"), 200 * MS, 2600) + quiet_jobs(QUIET, 24),
        attack=hinted(long, hint_us),
        truth=long,
        busy=VICTIMS,
        quiet=(QUIET,),
    )


def claimed_in_fresh_queues(weight: float) -> Scene:
    """Return one that, while alone, hints huge costs of empty jobs under fresh queue names."""
    batches = tuple(
        job
        for at_us in range(0, 8 * SECOND, 20 * MS)
        for job in backlog((f"fresh{at_us}", "liar"), MS, 6, at_us=at_us)
    )
    return Scene(
        seconds=20,
        honest=victims(20, from_us=8 * SECOND) + quiet_jobs(QUIET, 20, from_us=8 * SECOND),
        attack=hinted(batches, MONTH),
        truth=batches,
        busy=VICTIMS,
        quiet=(QUIET,),
        policy={"queues": [{"match": {"queue": "fresh*"}, "weight": weight}]},
    )


def anchor() -> Scene:
    """Return one that holds virtual time back with empty jobs, then uses a second lane.

    They are more than an order that charges claims starts, one a tick: its lane always waits.
    """
    empty = steady(LIAR, 1 * MS, 100 * MS, until_us=24 * SECOND, jobs=20)
    second = backlog(("q", "second"), 500 * MS, 600, at_us=14 * SECOND)
    return Scene(
        seconds=24,
        honest=victims(24) + quiet_jobs(QUIET, 24),
        attack=hinted(empty, MONTH) + second,
        truth=empty + second,
        busy=VICTIMS,
        quiet=(QUIET,),
    )


def ten_queues() -> Scene:
    """Return one that spreads over ten queues what it would have in one."""
    one = backlog(("q0", "liar"), 200 * MS, 2600)
    return Scene(
        seconds=24,
        honest=backlog(("r", "a"), 200 * MS, 2600) + quiet_jobs(("s", "quiet"), 24),
        attack=tuple(
            replace(job, lane=(f"q{number % 10}", "liar")) for number, job in enumerate(one)
        ),
        truth=one,
        busy=(("r", "a"),),
        quiet=(("s", "quiet"),),
        accounts=by_tenant,
    )


def fresh_queues() -> Scene:
    """Return one that inserts each of 400 jobs a second in a queue of its own."""
    one = steady(LIAR, 100 * MS, 20 * MS, until_us=23 * SECOND, jobs=8)
    return Scene(
        seconds=23,
        honest=backlog(("r", "a"), 200 * MS, 2600, at_us=SECOND)
        + quiet_jobs(("s", "quiet"), 23),
        attack=tuple(
            replace(job, lane=(f"q{number}", "liar")) for number, job in enumerate(one)
        ),
        truth=one,
        busy=(("r", "a"),),
        quiet=(("s", "quiet"),),
        accounts=by_tenant,
    )


def fresh_tenants() -> Scene:
    """Return one that inserts each of 400 jobs a second as a tenant of its own.

    Half a second after the start, since until then all are unknown to the leader.
    """
    begins_us = SECOND // 2 + 100 * MS
    one = steady(LIAR, 100 * MS, 20 * MS, from_us=begins_us, until_us=23 * SECOND, jobs=8)
    return Scene(
        seconds=23,
        honest=victims(23, from_us=begins_us + SECOND)
        + quiet_jobs(QUIET, 23, from_us=begins_us + SECOND),
        attack=tuple(
            replace(job, lane=("q", f"liar-{number}")) for number, job in enumerate(one)
        ),
        truth=one,
        busy=VICTIMS,
        quiet=(QUIET,),
        accounts=by_login,
    )


def fresh_tenants_after_a_known_one() -> Scene:
    """Return the same, where the quiet tenant has had two jobs before the names begin."""
    scene = fresh_tenants()
    known = steady(QUIET, 50 * MS, 100 * MS, until_us=200 * MS)
    return replace(scene, honest=known + scene.honest)


def burst_while_others_are_idle(cost_us: int) -> Scene:
    """Return one that inserts 2,000 names at once just before known tenants begin again."""
    seconds, burst_us = 30, 5 * SECOND
    begin_us = burst_us + 100 * MS
    known = tuple(
        job
        for lane in VICTIMS
        for job in steady(lane, 200 * MS, 100 * MS, until_us=2 * SECOND)
        + backlog(lane, 200 * MS, 2000, at_us=begin_us)
    )
    return Scene(
        seconds=seconds,
        honest=known
        + steady(QUIET, 50 * MS, 247 * MS, until_us=2 * SECOND)
        + quiet_jobs(QUIET, seconds, from_us=begin_us),
        attack=tuple(
            Arrival(burst_us, ("q", f"liar-{number}"), cost_us) for number in range(2000)
        ),
        truth=backlog(LIAR, cost_us, 2000, at_us=burst_us),
        busy=VICTIMS,
        quiet=(QUIET,),
        accounts=by_login,
    )


def hints_nothing_in_fresh_names() -> Scene:
    """Return one that inserts long jobs under fresh names, and hints that they take no time.

    By its hints one turn would take all jobs of a name. Nothing is kept for short jobs.
    """
    seconds = 30
    batches = tuple(
        job
        for number in range(30)
        for job in backlog(("q", f"liar-{number}"), 1950 * MS, 60, at_us=number * SECOND // 2)
    )
    return Scene(
        seconds=seconds,
        honest=victims(seconds) + quiet_jobs(QUIET, seconds),
        attack=hinted(batches, 1),
        truth=batches,
        quiet=(QUIET,),
        policy={"fairness": {"reserve": None}},
    )


def four_bands() -> Scene:
    """Return one that spreads over four bands what it would have in the first."""
    one = backlog(LIAR, 200 * MS, 4000)
    bands = [
        {
            "name": f"b{band}",
            "maxWait": "500ms" if band else None,
            "priorities": {"from": -band, "to": -band},
        }
        for band in range(4)
    ]
    return Scene(
        seconds=24,
        honest=backlog(("q", "a"), 200 * MS, 2600) + quiet_jobs(QUIET, 24),
        attack=tuple(replace(job, priority=-(number % 4)) for number, job in enumerate(one)),
        truth=one,
        busy=(("q", "a"),),
        quiet=(QUIET,),
        accounts=by_tenant,
        policy={"bands": bands},
    )


def long_jobs() -> Scene:
    """Return one that fills every slot with long jobs while it is alone."""
    return Scene(
        seconds=30,
        honest=quiet_jobs(QUIET, 30),
        attack=backlog(LIAR, LONG_US, SLOTS, at_us=900 * MS),
        quiet=(QUIET,),
    )


def trained_before_long_jobs() -> Scene:
    """Return one that inserts empty jobs until its long ones count as short."""
    return Scene(
        seconds=30,
        honest=quiet_jobs(QUIET, 30),
        attack=backlog(LIAR, 1 * MS, 400)
        + backlog(LIAR, LONG_US, 60, at_us=900 * MS, hint_us=1 * MS),
        quiet=(QUIET,),
    )


def fresh_tenants_with_long_jobs() -> Scene:
    """Return one that inserts each long job as a tenant of which nothing is known."""
    return Scene(
        seconds=30,
        honest=quiet_jobs(QUIET, 30),
        attack=tuple(
            Arrival(900 * MS, ("q", f"liar-{number}"), LONG_US) for number in range(40)
        ),
        quiet=(QUIET,),
    )


def fresh_tenants_beside_a_known_one() -> Scene:
    """Return the same, where the quiet tenant has had jobs before."""
    scene = fresh_tenants_with_long_jobs()
    return replace(scene, honest=quiet_jobs(QUIET, scene.seconds, from_us=100 * MS))


def trained_in_a_stream() -> Scene:
    """Return one that inserts its long jobs right behind empty ones."""
    stream = backlog(LIAR, 1 * MS, 4000) + backlog(LIAR, LONG_US, 60, hint_us=1 * MS)
    return replace(trained_before_long_jobs(), attack=stream)


def known_tenants_with_long_jobs() -> Scene:
    """Return one that trains ten tenants with empty jobs, all of which turn long at once."""
    seconds = 30
    return Scene(
        seconds=seconds,
        honest=quiet_jobs(QUIET, seconds, from_us=100 * MS),
        attack=tuple(
            job
            for number in range(10)
            for job in backlog(("q", f"liar-{number}"), MS, 40)
            + backlog(("q", f"liar-{number}"), LONG_US, 10, at_us=900 * MS)
        ),
        quiet=(QUIET,),
    )


def light_newcomer() -> Scene:
    """Return one of little weight that has work for the first time just before another."""
    light = {"match": {"tenant": "liar"}, "weight": 0.001}
    return Scene(
        seconds=20,
        honest=backlog(("q", "a"), 200 * MS, 2400)
        + backlog(("q", "b"), 200 * MS, 1200, at_us=2 * SECOND)
        + quiet_jobs(QUIET, 20, from_us=3 * SECOND),
        attack=backlog(LIAR, 200 * MS, 1, at_us=SECOND),
        truth=backlog(("q", "plain"), 200 * MS, 1, at_us=SECOND),
        busy=VICTIMS,
        quiet=(QUIET,),
        policy={"queues": [{"match": {"queue": "q"}, "tenants": {"overrides": [light]}}]},
    )


def key_of_another_tenant() -> Scene:
    """Return one whose jobs have the key value of another tenant's, of which one may run."""
    key = {"key": "payload.account", "limit": 1}
    own = backlog(LIAR, SECOND, 40)
    return Scene(
        seconds=20,
        honest=tuple(replace(job, account="quiet's") for job in quiet_jobs(QUIET, 20)),
        attack=tuple(replace(job, account="quiet's") for job in own),
        truth=tuple(replace(job, account="its own") for job in own),
        quiet=(QUIET,),
        policy={"queues": [{"match": {"queue": "q"}, "concurrency": [key]}]},
    )


def backlog(
    lane: Key, cost_us: int, jobs: int, *, at_us: int = 0, hint_us: int | None = None
) -> Arrivals:
    """Return jobs that are inserted at once."""
    return (Arrival(at_us, lane, cost_us, hint_us),) * jobs


def steady(
    lane: Key, cost_us: int, every_us: int, *, from_us: int = 0, until_us: int, jobs: int = 1
) -> Arrivals:
    """Return jobs that are inserted so many at a time, again and again."""
    times_us = range(from_us, until_us, every_us)
    return tuple(Arrival(at_us, lane, cost_us) for at_us in times_us for _ in range(jobs))


def hinted(jobs: Arrivals, hint_us: int) -> Arrivals:
    """Return the jobs with this hint."""
    return tuple(replace(job, hint_us=hint_us) for job in jobs)


def victims(seconds: int, *, from_us: int = 0) -> Arrivals:
    """Return more work of two tenants than they can be given."""
    jobs = (seconds * SECOND - from_us) * SLOTS // (200 * MS) * 3 // 4
    return tuple(
        job for lane in VICTIMS for job in backlog(lane, 200 * MS, jobs, at_us=from_us)
    )


def quiet_jobs(lane: Key, seconds: int, *, from_us: int = SECOND) -> Arrivals:
    """Return four short jobs a second, not in step with the fleet."""
    return steady(
        lane, 50 * MS, 247 * MS, from_us=from_us, until_us=seconds * SECOND - SECOND // 2
    )


def short_jobs_claimed_ahead() -> Scene:
    """Return one whose jobs are so short that workers claim many ahead of their slots."""
    return Scene(
        seconds=8,
        depth=160,
        ahead=160,
        honest=victims(8) + quiet_jobs(QUIET, 8),
        attack=backlog(LIAR, 2 * MS, 40_000),
        busy=VICTIMS,
        quiet=(QUIET,),
    )


ATTACKS: dict[str, Callable[[], Scene]] = {
    "claims a month before others wake": lambda: claimed_before_others_wake(MONTH),
    "claims a minute before others wake": lambda: claimed_before_others_wake(MINUTE),
    "long jobs before short ones": long_jobs_before_short_ones,
    "claims a month in a shared queue": lambda: claimed_in_a_shared_queue(MONTH),
    "claims ten minutes in a shared queue": lambda: claimed_in_a_shared_queue(10 * MINUTE),
    "claims months in fresh queues": lambda: claimed_in_fresh_queues(0.001),
    "anchor": anchor,
    "ten queues": ten_queues,
    "fresh queues": fresh_queues,
    "fresh tenants": fresh_tenants,
    "fresh tenants after a known one": fresh_tenants_after_a_known_one,
    "burst of names while others are idle": lambda: burst_while_others_are_idle(200 * MS),
    "burst of names with long first jobs": lambda: burst_while_others_are_idle(SECOND),
    "hints nothing in fresh names": hints_nothing_in_fresh_names,
    "four bands": four_bands,
    "light newcomer": light_newcomer,
    "another tenant's key": key_of_another_tenant,
    "long jobs": long_jobs,
    "trained before long jobs": trained_before_long_jobs,
    "trained in a stream": trained_in_a_stream,
    "known tenants with long jobs": known_tenants_with_long_jobs,
    "fresh tenants with long jobs": fresh_tenants_with_long_jobs,
    "fresh tenants beside a known one": fresh_tenants_beside_a_known_one,
}
"""By what the attacker does."""
