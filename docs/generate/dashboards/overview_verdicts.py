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

VERDICTS = Row(
    "Is something wrong? Green: no. Click a red one for what to do.",
    (
        Panel(
            title="Scheduler",
            about="Whether exactly one scheduler leads. Without one nothing new starts.",
            act="Look at the schedulers' pods and at what they log; they need the database.",
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
            about="Which part of the jobs that started in the time shown had waited no longer "
            "than their pool's objective, as the alerts count it. Without the alerts' rules or "
            "an objective in the policy: than the one chosen above.",
            act="See below which queue is late. If all slots are busy, it wants workers; if "
            "not, a limit of the policy holds it.",
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
            about="How much of the late jobs that the target allows, over the time shown, is "
            "not used up. Below zero the objective is missed.",
            act="Choose a longer time above to judge a month. Nearly empty: put off risky "
            "changes, and raise the pool's maximum or the lanes' limits.",
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
            title="Oldest wait of its objective",
            about="For how long the oldest job has waited that may run, as part of how long it "
            "may wait; the worst queue. That is its pool's objective, as the alerts take it. "
            "Without their rules, or where none of the queue started in a day: the one chosen "
            "above. Alerts wait for twice as long, and for a minute at least.",
            act="The panels below tell its queue and its tenant, and what holds tenants back.",
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
            about="Queues with a job that has waited for five minutes, in which none started, "
            "and none of which runs.",
            act="A pause, no worker in the pool, or slots full of other queues' stuck jobs: "
            "the runbook tells them apart.",
            unit="short",
            queries=(Query(else_zero(f"count({_STALLED})"), "queues"),),
            look=Look.NUMBER,
            steps=bad_from(1),
            runbook="FairleadNoProgress",
        ),
        Panel(
            title="Attempts that fail",
            about="Which part of the attempts that ended in the last five minutes failed, "
            "crashed or lost its worker.",
            act="See below which kind of job fails. If all do, look at what they share: a "
            "deployment, a service that they call.",
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
            about="Attempts, in the time shown, that were taken back from workers that were "
            "lost, or that were long past their deadline. They run once more.",
            act="Look for workers that are killed (memory, node) or cut off the database.",
            unit="short",
            queries=(Query(grown("fairlead_jobs_rescued", "$__range", ""), "taken back"),),
            look=Look.NUMBER,
            steps=bad_above(1, 20),
            runbook="FairleadLeasesExpire",
            see=common.WORKERS,
            decimals=0,
        ),
        Panel(
            title="Queues measured ago",
            about="How old depths, ages and shares on these dashboards are.",
            act="The leader cannot read the database in time: see whether it is overloaded. "
            "Do not trust green figures meanwhile.",
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
