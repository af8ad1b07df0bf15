"""The first row of the overview: eight figures, each green or red."""

from docs.generate.dashboards import common
from docs.generate.dashboards.parts import (
    Look,
    Panel,
    Query,
    Row,
    bad_above,
    bad_below,
    bad_from,
)
from docs.generate.dashboards.promql import (
    FAILED,
    QUEUE,
    RUNNING,
    against_objective,
    burnt,
    else_zero,
    grown,
    grown_or_begun,
    highest,
    in_time,
    series,
)

_OLDEST = highest("fairlead_queue_oldest_ready_age_seconds", "queue", QUEUE)
_STALLED = (
    f"{_OLDEST} > 300 unless on (queue) "
    f"{grown_or_begun('fairlead_jobs_started', '5m', 'queue', QUEUE)} > 0 unless on (queue) "
    f"{highest('fairlead_queue_depth', 'queue', QUEUE, RUNNING)} > 0"
)
_ENDED = "fairlead_attempts_ended"

SUMMARY = Row(
    "Is something wrong? Green means no. Click a red panel for what to do.",
    (
        Panel(
            title="Scheduler",
            about="Whether exactly one scheduler leads. Without a leader nothing new starts.",
            act="Check the schedulers' pods and logs; they need the database.",
            unit="none",
            queries=(
                Query(
                    else_zero(f"sum({series('fairlead_leader', common.SCHEDULER)})"),
                    "leaders",
                ),
            ),
            look=Look.NUMBER,
            steps=((None, "red"), (1, "green"), (2, "orange")),
            runbook="FairleadNoLeader",
            words=((0, "none leads"), (1, "one leads")),
        ),
        Panel(
            title="Started in time",
            about="Share of the jobs started in the time shown that had waited no "
            "longer than their pool's objective, counted as in the alerts. "
            "Without the alerts' recording rules, or without an objective in the "
            "policy, the one selected above applies.",
            act="The panels below show which queue is late. If all slots are busy, it "
            "needs workers; if not, a limit of the policy blocks it.",
            unit="percentunit",
            queries=(Query(in_time("$__range"), "in time"),),
            look=Look.NUMBER,
            steps=bad_below(0.99, 0.95),
            runbook="FairleadWaitBudgetBurnsFast",
            empty="none started",
            highest=1,
            decimals=2,
        ),
        Panel(
            title="Error budget left",
            about="Share of the late jobs allowed by the target, over the time shown, "
            "that is not used up. Below zero the objective is missed.",
            act="Select a longer time above to evaluate a month. If it is nearly used "
            "up, postpone risky changes, and raise the pool's maximum or the "
            "lanes' limits.",
            unit="percentunit",
            runbook="FairleadWaitBudgetShrinks",
            queries=(Query(f"1 - {burnt('$__range')}", "left"),),
            look=Look.NUMBER,
            steps=bad_below(0.25, 0),
            empty="none started",
            lowest=None,
            highest=1,
            decimals=0,
        ),
        Panel(
            title="Oldest wait / objective",
            about="How long the oldest runnable job has waited, divided by its pool's "
            "objective; the worst queue. Without the alerts' recording rules, or "
            "if no job of the queue started within a day, the objective "
            "selected above applies. The alerts fire at twice the objective, and "
            "at one minute at the earliest.",
            act="The panels below show the queue, its tenant, and what blocks tenants.",
            unit="percentunit",
            queries=(Query(f"max({against_objective(_OLDEST)})", "wait"),),
            look=Look.NUMBER,
            steps=bad_above(1, 2),
            runbook="FairleadOldestJobWaits",
            see=common.FAIRNESS,
            empty="no queue",
            decimals=0,
        ),
        Panel(
            title="Queues that stand still",
            about="Queues in which a job has waited for five minutes, none has "
            "started, and none is running.",
            act="A pause, no worker in the pool, or slots full of other queues' stuck "
            "jobs: the runbook tells them apart.",
            unit="short",
            queries=(Query(else_zero(f"count({_STALLED})"), "queues"),),
            look=Look.NUMBER,
            steps=bad_from(1),
            runbook="FairleadNoProgress",
        ),
        Panel(
            title="Attempts that fail",
            about="Share of the attempts ended in the last five minutes that failed, "
            "crashed or lost their worker.",
            act="The panels below show which kind of job fails. If all kinds do, check "
            "what they share: a deployment, a service that they call.",
            unit="percentunit",
            queries=(
                Query(
                    f"{else_zero(grown_or_begun(_ENDED, '5m', '', QUEUE, FAILED))} "
                    f"/ ({grown_or_begun(_ENDED, '5m', '', QUEUE)} > 0)",
                    "fail",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_above(0.05, 0.2),
            runbook="FairleadAttemptsFail",
            empty="none ended",
            highest=1,
            decimals=1,
        ),
        Panel(
            title="Attempts taken back",
            about="Attempts, in the time shown, that were taken back from lost "
            "workers, or long past their deadline. Their jobs run once more.",
            act="Look for workers that are killed (memory, node) or cut off from the database.",
            unit="short",
            queries=(Query(grown("fairlead_jobs_rescued", "$__range", ""), "taken back"),),
            look=Look.NUMBER,
            steps=bad_above(1, 20),
            runbook="FairleadLeasesExpire",
            see=common.WORKERS,
            decimals=0,
        ),
        Panel(
            title="Age of queue figures",
            about="How old the depths, ages and shares on these dashboards are.",
            act="The leader cannot read the database in time: check whether it is "
            "overloaded. Do not trust green figures until then.",
            unit="s",
            queries=(
                Query(
                    f"time() - max({series('fairlead_db_snapshot_timestamp_seconds')} > 0)",
                    "age",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_above(30, 60),
            runbook="FairleadQueuesNotMeasured",
            empty="never",
            decimals=0,
        ),
    ),
)
