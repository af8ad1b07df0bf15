"""Which rules of the policy hold a single job back.

Some ask for its kind only, and hold while their conditions do; others ask for more, and are
looked at for the job itself when it is its turn. What they say counts for a second. The one who
looks has little time: a job that was never looked at waits for it, and of one that was the
former verdict counts until then.
"""

from fairlead_scheduler.books import UNKNOWN, Flight, Lane
from fairlead_scheduler.judged import Judged, Verdict
from fairlead_scheduler.keys import Keys
from fairlead_scheduler.ledger import Ledger

_VERDICT_US = 1_000_000
"""For how long a verdict counts at most."""
_APART_US = 61_803
"""By how much lanes whose verdicts end are apart: each ends all of its own together."""


def concerning(lane: Lane) -> int:
    """Return the rules for single jobs that are for those of this lane."""
    jobs = lane.queue.rules.jobs
    if jobs and lane.rules == UNKNOWN:
        lane.rules = lane.queue.rules.for_tenant(lane.tenant)
    return lane.rules & jobs


def chooses(lane: Lane, keys: Keys[Lane]) -> bool:
    """Whether something may hold single jobs of this lane, whose queue has these keys."""
    return bool(keys.demands) or concerning(lane) > 0


def held_by(ledger: Ledger, lane: Lane, judged: Judged, job_id: int, rules: int) -> int | None:
    """Return those of a lane's rules that hold a job; None while nobody has looked.

    Nothing holds a job of which nothing is known.
    """
    held = _held_by(ledger, lane, judged, job_id, rules)
    if held:
        judged.since_us.setdefault(job_id, ledger.now_us)
    elif job_id in judged.since_us:
        del judged.since_us[job_id]
    return held


def _held_by(ledger: Ledger, lane: Lane, judged: Judged, job_id: int, rules: int) -> int | None:
    facts = judged.facts.get(job_id)
    if facts is None:
        return 0
    book = ledger.table.rules
    rules &= book.for_kind(facts.kind)
    held = rules & (ledger.ruling | lane.ruling)
    asked = rules & book.judged
    if held or not asked:
        return held
    known = judged.verdicts.get(job_id)
    if known is not None and known.until_us > ledger.now_us:
        return known.rules
    found = ledger.shared.judge(lane, facts, asked, again=known is not None)
    if found is None:
        return None if known is None else known.rules
    judged.verdicts[job_id] = Verdict(found, until_us(lane, ledger.now_us))
    return found


def until_us(lane: Lane, now_us: int) -> int:
    """Return until when the verdicts on jobs of a lane count: it is looked at once a second."""
    return now_us + _VERDICT_US - (now_us - lane.index * _APART_US) % _VERDICT_US


def is_ruled_out(ledger: Ledger, job_id: int, flight: Flight) -> bool:
    """Whether a rule holds a job that is queued for a worker."""
    keys, rules = flight.lane.queue.keys, concerning(flight.lane)
    if keys is None or not rules:
        return False
    return bool(held_by(ledger, flight.lane, keys.judged, job_id, rules))
