"""Overview: is something wrong, whom does it hurt, and what is to be done."""

from docs.generate.dashboards import common
from docs.generate.dashboards.overview_verdicts import VERDICTS
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

_MAY_WAIT = Query(highest("fairlead_pool_objective_seconds", "pool"), "may in {{pool}}")

_VICTIMS = Row(
    "Whom does it hurt, and why?",
    (
        Panel(
            title="Tenants that wait longest",
            about="The ten longest waits of tenants; `other` is the longest of all that have "
            "no name here. Five that wait longest have one, beside those with most slots; who "
            "has one gives way only to a wait that is a quarter longer.",
            act="One tenant: look at its limits and its share on the Fairness dashboard. All "
            "of them: the pool has too few slots.",
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
            empty="Nobody has work.",
        ),
        Panel(
            title="Oldest wait of each queue",
            about="For how long the oldest job that may run has waited, and how long jobs may "
            "wait in each pool.",
            act="A line that climbs steadily is a queue in which nothing starts; a saw tooth "
            "is one that is short of slots.",
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
            title="What holds tenants back",
            about="Tenants of queues that have work and may not start it, by what forbids it: "
            "a limit, a rate, a pause, a rule (`hold`), no pool for the queue, slots kept for "
            "short jobs (`reserve`), a key.",
            act="`pool` is a mistake in the policy: `fairlead check` names the queue. The "
            "others are the policy at work: change it if it is not what you want.",
            unit="short",
            queries=(Query(highest("fairlead_lanes_blocked", "reason"), "{{reason}}"),),
            look=Look.STACK,
            see=common.FAIRNESS,
            empty="Nobody is held back.",
        ),
    ),
)

_FLOW = Row(
    "How much waits, and does it get less?",
    (
        Panel(
            title="Backlog",
            about="Jobs that may run and wait, by queue; counting stops at 20,000 of one.",
            act="Compare what comes with what starts, on the right: while more comes, only "
            "more slots or fewer jobs help.",
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
            title="What comes, starts and ends",
            about="Jobs a second that became runnable, attempts that started, and jobs that "
            "ended for good. Retries start more often than they come.",
            act="*Comes* above *starts*: the backlog grows. *Starts* above *ends*: attempts "
            "are repeated, so see what fails.",
            unit="ops",
            queries=(
                Query(rate("fairlead_jobs_runnable", "", QUEUE), "comes"),
                Query(rate("fairlead_jobs_started", "", QUEUE), "starts"),
                Query(rate("fairlead_jobs_finished", "", QUEUE), "ends"),
            ),
        ),
        Panel(
            title="Time to empty",
            about="How long all slots that there are would take for what waits, if no more "
            "came: the jobs that wait times their queue's mean run time, over the slots.",
            act="More than the objective: jobs that come now will be late, unless the "
            "autoscaler adds pods.",
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
            empty="No run has ended, or no worker is there.",
        ),
        Panel(
            title="Falls due soon",
            about="Scheduled jobs that fall due within a minute, ten minutes and an hour.",
            act="A step up is load that is sure to come: see whether the pool's maximum "
            "allows for it.",
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
    "Is the objective kept?",
    (
        Panel(
            title="Error budget burn rate",
            about="How many times faster than allowed late jobs come, within four windows. At "
            "1 the budget lasts exactly as long as it is meant to. Late is what *Started in "
            "time* calls so.",
            act="Above 14.4 for an hour: act now. Above 6 for six hours: act today. Else find "
            "the queue on the right.",
            unit="short",
            runbook="FairleadWaitBudgetBurns",
            queries=tuple(Query(burnt(within), within) for within in ("5m", "30m", "1h", "6h")),
            steps=((None, "green"), (1, "orange"), (6, "red"), (14.4, "dark-red")),
            step="1m",
            empty="No job started.",
        ),
        Panel(
            title="Wait before the start",
            about="From falling due to the handler's start: what half, 95 and 99 in 100 jobs "
            "stayed below, and how long they may wait in each pool. A delay that was asked for "
            "is not in it.",
            act="Only 99 in 100 is high: a few tenants are held back. Half is high: there are "
            "too few slots.",
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
            about="Jobs a second that started later than their pool's objective or, without "
            "the alerts' rules or an objective in the policy, than the one chosen above.",
            act="Choose the queue above, and see its tenants and what holds them back.",
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
            title="Attempts that did not succeed",
            about="In the last five minutes, by how they ended. `returned` and `released` are "
            "no faults: the job was handed back, as when a worker stops.",
            act="`failed`: the handler raised, so read its error with `fairlead jobs show`. "
            "`crashed`: its process died, often of memory. `lost`: its worker did.",
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
            about="The five kinds of job with most attempts that failed, crashed or were lost "
            "in the last five minutes.",
            act="`fairlead jobs list --state failed` shows them with their errors; "
            "`fairlead jobs retry` runs them again once it is mended.",
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
            about="Jobs that failed for good and were not repeated, as long as history is "
            "kept; counted once a minute, up to 10,000.",
            act="Retry those that are mended. A line that climbs is a fault that lasts.",
            unit="short",
            queries=(Query(highest("fairlead_dead_jobs", "queue", QUEUE), "{{queue}}"),),
            runbook="FairleadDeadJobsGrow",
            empty="No job is dead.",
        ),
        Panel(
            title="Jobs that ended for good",
            about="By outcome: succeeded, failed, cancelled, or expired before they started.",
            act="`expired` jobs waited too long for their own deadline: see the waits above.",
            unit="ops",
            queries=(Query(rate("fairlead_jobs_finished", "outcome", QUEUE), "{{outcome}}"),),
            look=Look.STACK,
            empty="No job ended.",
        ),
    ),
)

BOARD = Board(
    uid=common.OVERVIEW,
    title="Fairlead: overview",
    about="Whether jobs start in time, whom it hurts if not, and what fails.",
    choices=(common.ONE, common.JOBS, common.QUEUES, common.OBJECTIVE, common.TARGET),
    events=(common.LEAD_CHANGED, common.POLICY_CHANGED),
    rows=(VERDICTS, _VICTIMS, _FLOW, _WAITS, _ERRORS),
)
