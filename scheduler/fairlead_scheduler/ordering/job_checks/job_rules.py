"""Which rules of the policy block a single job.

Some depend on its kind only, and block while their conditions hold. Others depend on more, and
are evaluated for the job itself when it is its turn. A result is valid for a second. The time
to evaluate is limited: a job that was never evaluated waits for it, and one that was keeps its
former result until then.
"""

from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.job_facts import RuleResult, RuleResults
from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.lanes import UNKNOWN, Lane
from fairlead_scheduler.ordering.ledger import Ledger

_RESULT_US = 1_000_000
"""For how long a result is valid at most."""
_STAGGER_US = 61_803
"""By how much the ends of validity of two lanes are apart; all of one lane end together."""


def job_rules_of(lane: Lane) -> int:
    """Return the rules for single jobs that apply to this lane's jobs."""
    jobs = lane.queue.rules.jobs
    if jobs and lane.rules == UNKNOWN:
        lane.rules = lane.queue.rules.for_tenant(lane.tenant)
    return lane.rules & jobs


def may_block_jobs(lane: Lane, keys: ConcurrencyKeys[Lane]) -> bool:
    """Whether keys, rules or limits of kinds may block single jobs of this lane.

    The keys are those of its queue.
    """
    if keys.limits or job_rules_of(lane) > 0:
        return True
    return keys.kinds is not None and keys.kinds.watches(keys.queue, lane.tenant)


def blocking_rules(
    ledger: Ledger, lane: Lane, results: RuleResults, job_id: int, rules: int
) -> int | None:
    """Return which of a lane's rules block a job; None while that is not known.

    A job of which nothing is known is not blocked. Notes since when the job has been blocked.
    """
    blocking = _blocking_rules(ledger, lane, results, job_id, rules)
    if blocking:
        results.since_us.setdefault(job_id, ledger.now_us)
    elif job_id in results.since_us:
        del results.since_us[job_id]
    return blocking


def _blocking_rules(
    ledger: Ledger, lane: Lane, results: RuleResults, job_id: int, rules: int
) -> int | None:
    facts = results.facts.get(job_id)
    if facts is None:
        return 0
    rule_set = ledger.table.rules
    rules &= rule_set.for_kind(facts.kind)
    blocking = rules & (ledger.active_rules | lane.active_rules)
    unanswered = rules & rule_set.evaluated_per_job
    if blocking or not unanswered:
        return blocking
    known = results.by_job.get(job_id)
    if known is not None and known.until_us > ledger.now_us:
        return known.rules
    found = ledger.context.check_rules(lane, facts, unanswered, again=known is not None)
    if found is None:
        return None if known is None else known.rules
    results.by_job[job_id] = RuleResult(found, valid_until_us(lane, ledger.now_us))
    return found


def valid_until_us(lane: Lane, now_us: int) -> int:
    """Return until when results for jobs of a lane are valid: it is evaluated once a second."""
    return now_us + _RESULT_US - (now_us - lane.account.index * _STAGGER_US) % _RESULT_US


def is_blocked_by_rule(ledger: Ledger, job_id: int, job: InFlightJob) -> bool:
    """Whether a rule blocks a job that is queued for a worker."""
    keys, rules = job.lane.queue.keys, job_rules_of(job.lane)
    if keys is None or not rules:
        return False
    return bool(blocking_rules(ledger, job.lane, keys.rule_results, job_id, rules))
