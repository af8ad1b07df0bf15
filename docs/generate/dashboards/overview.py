"""Overview: is something wrong, who is affected, and what to do about it."""

from docs.generate.dashboards import common
from docs.generate.dashboards.overview_summary import SUMMARY
from docs.generate.dashboards.parts import (
    Board,
    Look,
    Panel,
    Query,
    Row,
)
from docs.generate.dashboards.promql import (
    FAILED,
    QUEUE,
    WAITING,
    burnt,
    grown_or_begun,
    highest,
    late,
    quantile,
    rate,
    series,
    total,
)

_MAY_WAIT = Query(highest("fairlead_pool_objective_seconds", "pool"), "objective of {{pool}}")

_VICTIMS = Row(
    "Who waits, and why?",
    (
        Panel(
            title="Tenants that wait longest",
            about="The ten longest waits. Only the tenants with most slots and five "
            "that wait longest have a name; `other` is the longest wait of the "
            "rest. A named tenant is replaced only by one whose wait is a "
            "quarter longer.",
            act="One tenant: check its limits and its share on the Fairness dashboard. "
            "All of them: the pool has too few slots.",
            unit="s",
            queries=(
                Query(
                    "topk(10, "
                    + highest("fairlead_tenant_oldest_wait_seconds", "queue, tenant", QUEUE)
                    + ")",
                    "{{tenant}} in {{queue}}",
                ),
            ),
            look=Look.BARS,
            see=common.FAIRNESS,
            empty="No tenant has work.",
        ),
        Panel(
            title="Oldest wait, by queue",
            about="How long the oldest runnable job of each queue has waited, and each "
            "pool's objective.",
            act="A line that climbs steadily is a queue in which nothing starts; a saw "
            "tooth is a queue that is short of slots.",
            unit="s",
            queries=(
                Query(
                    highest("fairlead_queue_oldest_ready_age_seconds", "queue", QUEUE),
                    "{{queue}}",
                ),
                _MAY_WAIT,
            ),
            runbook="FairleadOldestJobWaits",
        ),
        Panel(
            title="Blocked tenants, by reason",
            about="Tenants of queues that have work but may not start it, by what "
            "blocks them: a limit, a rate, a pause, a rule (`hold`), no pool for "
            "the queue, slots kept for short jobs (`reserve`), a key, the limit of a `kind`.",
            act="`pool` is a mistake in the policy: `fairlead doctor` names the queue. "
            "The other reasons are the policy at work: change it if that is not "
            "what you want.",
            unit="short",
            queries=(Query(highest("fairlead_lanes_blocked", "reason"), "{{reason}}"),),
            look=Look.STACK,
            see=common.FAIRNESS,
            empty="No tenant is blocked.",
        ),
    ),
)

_FLOW = Row(
    "How large is the backlog, and does it shrink?",
    (
        Panel(
            title="Backlog",
            about="Runnable jobs that wait, by queue; counting stops at 20,000 per queue.",
            act="Compare arrivals with starts, on the right: as long as more arrive, "
            "only more slots or fewer jobs help.",
            unit="short",
            queries=(
                Query(
                    "sum by (queue) "
                    f"({highest('fairlead_queue_depth', 'queue, state', QUEUE, WAITING)})",
                    "{{queue}}",
                ),
            ),
            look=Look.STACK,
        ),
        Panel(
            title="Arrivals, starts and finishes",
            about="Per second: jobs that became runnable, attempts that started, and "
            "jobs that finished. A retry starts again without arriving again.",
            act="More arrivals than starts: the backlog grows. More starts than "
            "finishes: attempts are repeated, so check what fails.",
            unit="ops",
            queries=(
                Query(rate("fairlead_jobs_runnable", "", QUEUE), "arrivals"),
                Query(rate("fairlead_jobs_started", "", QUEUE), "starts"),
                Query(rate("fairlead_jobs_finished", "", QUEUE), "finishes"),
            ),
        ),
        Panel(
            title="Time to empty the backlog",
            about="How long all slots would take to run the backlog if nothing more "
            "arrived: waiting jobs times their queue's mean run time, divided by "
            "the slots.",
            act="Longer than the objective: jobs that arrive now will be late, unless "
            "the autoscaler adds pods.",
            unit="s",
            runbook="FairleadBacklogGrowsAtMax",
            queries=(
                Query(
                    f"sum({highest('fairlead_queue_backlog_work_seconds', 'queue', QUEUE)}) "
                    f"/ ({total('fairlead_worker_slots', '')} > 0)",
                    "all queues",
                ),
            ),
            see=common.AUTOSCALER,
            empty="No run has ended, or there is no worker.",
        ),
        Panel(
            title="Due soon",
            about="Scheduled jobs that fall due within a minute, ten minutes and an hour.",
            act="A step up is load that will certainly arrive: check that the pool's "
            "maximum allows for it.",
            unit="short",
            queries=(
                Query(
                    "sum by (within) (max by (queue, within) "
                    f"({series('fairlead_queue_scheduled_next_jobs', QUEUE)}))",
                    "within {{within}}",
                ),
            ),
        ),
    ),
)

_WAITS = Row(
    "Is the objective met?",
    (
        Panel(
            title="Error budget burn rate",
            about="How many times faster than allowed the error budget is used up, "
            "over four windows. At 1 it lasts exactly as long as planned. "
            "*Started in time* defines which jobs are late.",
            act="Above 14.4 for an hour: act now. Above 6 for six hours: act today. "
            "Otherwise find the queue on the right.",
            unit="short",
            runbook="FairleadWaitBudgetBurns",
            queries=tuple(Query(burnt(within), within) for within in ("5m", "30m", "1h", "6h")),
            steps=((None, "green"), (1, "orange"), (6, "red"), (14.4, "dark-red")),
            step="1m",
            empty="No job started.",
        ),
        Panel(
            title="Wait before start",
            about="From the moment when a job is due until its handler starts: the "
            "median, 95th and 99th percentile, and each pool's objective. A "
            "delay that the job asked for is not included.",
            act="Only the 99th percentile is high: a few tenants are blocked. The "
            "median is high: there are too few slots.",
            unit="s",
            queries=(
                *(
                    Query(
                        quantile(part, "fairlead_job_wait_seconds", "", QUEUE),
                        f"p{part:.0%}"[:-1],
                    )
                    for part in (0.5, 0.95, 0.99)
                ),
                _MAY_WAIT,
            ),
            empty="No job started.",
        ),
        Panel(
            title="Late jobs by queue",
            about="Jobs per second that started later than their pool's objective. "
            "Without the alerts' recording rules, or without an objective in the "
            "policy, the one selected above applies.",
            act="Select the queue above, and see its tenants and what blocks them.",
            unit="ops",
            queries=(Query(late(), "{{queue}}"),),
            look=Look.STACK,
            empty="No job started.",
        ),
    ),
)

_ERRORS = Row(
    "What fails?",
    (
        Panel(
            title="Unsuccessful attempts, by outcome",
            about="Attempts that ended in the last five minutes, by outcome. "
            "`returned` and `released` are no failures: the job was handed back, "
            "for example because its worker stopped.",
            act="`failed`: the handler raised, so read the error with `fairlead jobs "
            "show`. `crashed`: its process died, often for lack of memory. `lost`: "
            "its worker died.",
            unit="short",
            runbook="FairleadAttemptsFail",
            queries=(
                Query(
                    grown_or_begun(
                        "fairlead_attempts_ended",
                        "5m",
                        "ended_as",
                        QUEUE,
                        'ended_as!="succeeded"',
                    ),
                    "{{ended_as}}",
                ),
            ),
            look=Look.STACK,
            empty="All attempts succeed.",
        ),
        Panel(
            title="Kinds that fail most",
            about="The five kinds of job with most attempts that failed, crashed or "
            "were lost in the last five minutes.",
            act="`fairlead jobs list --state failed` shows these jobs with their "
            "errors; `fairlead jobs retry` runs them again after the repair.",
            unit="short",
            queries=(
                Query(
                    "topk(5, "
                    + grown_or_begun("fairlead_attempts_ended", "5m", "kind", QUEUE, FAILED)
                    + " > 0)",
                    "{{kind}}",
                ),
            ),
            runbook="FairleadAttemptsFail",
            empty="No attempt fails.",
        ),
        Panel(
            title="Dead jobs",
            about="Jobs that failed for good and were not repeated, within the time "
            "that history is kept; counted once a minute, up to 10,000.",
            act="Retry those whose cause is repaired. A line that climbs is a lasting fault.",
            unit="short",
            queries=(Query(highest("fairlead_dead_jobs", "queue", QUEUE), "{{queue}}"),),
            runbook="FairleadDeadJobsGrow",
            empty="There are no dead jobs.",
        ),
        Panel(
            title="Finished jobs, by outcome",
            about="Succeeded, failed, cancelled, or expired before they started.",
            act="`expired` jobs waited beyond their own deadline: see the waits above.",
            unit="ops",
            queries=(Query(rate("fairlead_jobs_finished", "outcome", QUEUE), "{{outcome}}"),),
            look=Look.STACK,
            empty="No job finished.",
        ),
    ),
)

BOARD = Board(
    uid=common.OVERVIEW,
    title="Fairlead: overview",
    about="Whether jobs start in time, which tenants are affected if not, and what fails.",
    choices=(common.ONE, common.JOBS, common.QUEUES, common.OBJECTIVE, common.TARGET),
    events=(common.LEAD_CHANGED, common.POLICY_CHANGED),
    rows=(SUMMARY, _VICTIMS, _FLOW, _WAITS, _ERRORS),
)
