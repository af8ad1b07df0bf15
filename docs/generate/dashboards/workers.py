"""Workers and database: slots, claims, finishes, leases, and PostgreSQL's health."""

from docs.generate.dashboards import common
from docs.generate.dashboards.database import GROWTH, HORIZON
from docs.generate.dashboards.parts import (
    Board,
    Look,
    Panel,
    Query,
    Row,
    bad_above,
    bad_from,
)
from docs.generate.dashboards.promql import (
    INSTANCE,
    POOL,
    else_zero,
    grown,
    highest,
    mean,
    quantile,
    rate,
    series,
    total,
)

_FULL = (
    f"{total('fairlead_worker_slots_busy', '', POOL)} "
    f"/ ({total('fairlead_worker_slots', '', POOL)} > 0)"
)

_VERDICTS = Row(
    "Is something wrong? Green means no.",
    (
        Panel(
            title="Pools without a worker",
            about="Pools of the policy in which no worker is live, or all are draining.",
            act="Their jobs wait. If the pool is not scaled to zero on purpose, check "
            "its pods and the autoscaler.",
            unit="short",
            queries=(
                Query(
                    else_zero(
                        "count("
                        + highest("fairlead_workers", "pool", POOL, 'state="live"')
                        + " == 0)"
                    ),
                    "pools",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_from(1),
            see=common.AUTOSCALER,
        ),
        Panel(
            title="Slots in use",
            about="Share of all slots that is in use. Near 1 with a backlog: there are "
            "too few slots.",
            act="Add workers, unless the time goes into jobs that should be faster: "
            "check their run times.",
            unit="percentunit",
            queries=(Query(_FULL, "in use"),),
            look=Look.NUMBER,
            empty="no worker",
            highest=1,
            decimals=0,
        ),
        Panel(
            title="Longest running job",
            about="How long the oldest attempt has been running.",
            act="Longer than any of your jobs should take: it is stuck. `fairlead jobs "
            "cancel` ends it; give its kind a timeout.",
            unit="s",
            queries=(
                Query(
                    "max(" + series("fairlead_job_longest_running_seconds", INSTANCE) + ")",
                    "runs",
                ),
            ),
            look=Look.NUMBER,
            empty="no worker",
        ),
        Panel(
            title="Claim duration, p95",
            about="The 95th percentile of a claim's duration.",
            act="Tenths of a second: the database is slow, or walks over dead rows: "
            "see the oldest snapshot and the dead rows below.",
            unit="s",
            queries=(
                Query(quantile(0.95, "fairlead_claim_duration_seconds", "", INSTANCE), "p95"),
            ),
            look=Look.NUMBER,
            steps=bad_above(0.1, 0.5),
            empty="no claims",
        ),
        Panel(
            title="Leases lost",
            about="Leases that workers lost in the time shown. A worker that loses its "
            "lease ends its own handlers.",
            act="The worker could not reach the database for a whole lease, or was "
            "frozen: check its node, and the connections below.",
            unit="short",
            queries=(Query(grown("fairlead_leases_lost", "$__range", "", INSTANCE), "lost"),),
            look=Look.NUMBER,
            steps=bad_above(1, 5),
            runbook="FairleadLeasesExpire",
            empty="no worker",
            decimals=0,
        ),
        Panel(
            title="Oldest snapshot",
            about="How long a transaction, a slot or a standby has kept PostgreSQL "
            "from removing dead rows.",
            act="Minutes: find it below by its holder, and end it. Claims get slower "
            "the longer it lasts.",
            unit="s",
            runbook="FairleadVacuumHeld",
            queries=(Query(f"max({series('fairlead_db_oldest_xmin_age_seconds')})", "age"),),
            look=Look.NUMBER,
            steps=bad_above(300, 900),
            empty="not measured",
        ),
        Panel(
            title="Connections in use",
            about="Share of PostgreSQL's connections for ordinary logins that is in "
            "use, by any program.",
            act="Near 1, new pods get no connection. See below who has them; shrink "
            "connection pools, use PgBouncer, or raise `max_connections`.",
            unit="percentunit",
            runbook="FairleadConnectionsExhausted",
            queries=(
                Query(
                    f"sum({highest('fairlead_db_connections', 'program')}) "
                    f"/ max({series('fairlead_db_connections_max')})",
                    "in use",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_above(0.8, 0.9),
            empty="not measured",
            highest=1,
            decimals=0,
        ),
        Panel(
            title="Dead rows",
            about="Share of dead rows in the worst table, among tables with more than "
            "10,000 dead rows.",
            act="VACUUM cannot remove them: see the oldest snapshot, then autovacuum's limits.",
            unit="percentunit",
            queries=(
                Query(
                    else_zero(
                        "max("
                        + highest("fairlead_db_table_bloat_ratio", "table")
                        + " and on (table) "
                        + highest("fairlead_db_table_dead_rows", "table")
                        + " > 10000)"
                    ),
                    "dead",
                ),
            ),
            look=Look.NUMBER,
            steps=bad_above(0.5, 0.9),
            highest=1,
            decimals=0,
        ),
    ),
)

_SLOTS = Row(
    "Are there enough slots?",
    (
        Panel(
            title="Slots",
            about="Jobs that may run at the same time, and jobs that do, by pool.",
            act="All slots in use for long, with a backlog: add workers. Many free "
            "slots with a backlog: a limit blocks jobs, see the Fairness "
            "dashboard.",
            unit="short",
            queries=(
                Query(total("fairlead_worker_slots", "pool", POOL), "{{pool}} available"),
                Query(total("fairlead_worker_slots_busy", "pool", POOL), "{{pool}} in use"),
            ),
            empty="There is no worker.",
        ),
        Panel(
            title="Workers",
            about="Workers by state: `live`, `draining` (they finish and leave), "
            "`lapsed` (their lease has expired).",
            act="The jobs of `lapsed` workers are being taken back: check whether the "
            "workers were killed.",
            unit="short",
            queries=(
                Query(highest("fairlead_workers", "pool, state", POOL), "{{pool}} {{state}}"),
            ),
            look=Look.STACK,
            empty="No scheduler leads.",
        ),
        Panel(
            title="Run time of the slowest kinds",
            about="The 95th percentile of run times of the ten slowest kinds of job.",
            act="A kind that got slower needs more slots for the same work: check what "
            "it calls.",
            unit="s",
            queries=(
                Query(
                    f"topk(10, {quantile(0.95, 'fairlead_job_run_seconds', 'kind', INSTANCE)})",
                    "{{kind}}",
                ),
            ),
            empty="No run ended.",
        ),
        Panel(
            title="Longest job of each worker",
            about="How long the oldest attempt of each worker has been running.",
            act="A line that climbs for hours is a stuck handler.",
            unit="s",
            queries=(
                Query(
                    "topk(10, "
                    + highest("fairlead_job_longest_running_seconds", "instance", INSTANCE)
                    + ")",
                    "{{instance}}",
                ),
            ),
            empty="There is no worker.",
        ),
    ),
)

_CLAIMS = Row(
    "Is the path through the database fast?",
    (
        Panel(
            title="Claim duration",
            about="How long a claim takes: median, 95th and 99th percentile.",
            act="Slow while the server is idle: dead rows; see the oldest snapshot. "
            "Slow together with everything else: the server.",
            unit="s",
            queries=tuple(
                Query(quantile(part, "fairlead_claim_duration_seconds", "", INSTANCE), name)
                for part, name in common.PARTS
            ),
            empty="No claims.",
        ),
        Panel(
            title="Finish duration",
            about="How long it takes to store the outcomes of a batch of attempts: "
            "median, 95th and 99th percentile.",
            act="Slow: an application keeps its jobs' rows locked, or the disk is slow.",
            unit="s",
            queries=tuple(
                Query(quantile(part, "fairlead_finish_duration_seconds", "", INSTANCE), name)
                for part, name in common.PARTS
            ),
            empty="No attempt ended.",
        ),
        Panel(
            title="Jobs per claim and finish",
            about="How many jobs one statement claims or finishes, on average.",
            act="It rises under load, which is good: fewer statements for the same jobs.",
            unit="short",
            queries=(
                Query(mean("fairlead_claim_batch_size", "", INSTANCE), "claim"),
                Query(mean("fairlead_finish_batch_size", "", INSTANCE), "finish"),
            ),
            empty="No claims.",
        ),
        Panel(
            title="Dispatch lag",
            about="From the moment when a scheduler's tick was due to the end of its "
            "dispatch: median, 95th and 99th percentile.",
            act="Tenths of a second: the leader lacks CPU time, or the database is slow.",
            unit="s",
            runbook="FairleadSchedulerLag",
            queries=tuple(
                Query(quantile(part, "fairlead_scheduler_lag_seconds", "", INSTANCE), name)
                for part, name in common.PARTS
            ),
            steps=bad_above(0.25, 1),
            empty="No scheduler leads.",
        ),
    ),
)

_LEASES = Row(
    "Do workers die?",
    (
        Panel(
            title="Lease renewals",
            about="Renewals per second by result: `renewed`, `failed` (the database "
            "did not answer), `dead` (the lease had expired).",
            act="`failed` on all workers at once: the database; on one worker: its "
            "network. `dead` ends that worker's handlers.",
            unit="ops",
            queries=(Query(rate("fairlead_lease_renewals", "result", INSTANCE), "{{result}}"),),
            look=Look.STACK,
            empty="There is no worker.",
        ),
        Panel(
            title="Attempts taken back, by queue",
            about="Attempts per minute that the leader took back from lost workers, or "
            "long past their deadline.",
            act="One queue only: its jobs kill their workers, usually by memory. All "
            "queues: nodes are lost.",
            unit="cpm",
            queries=(
                Query("60 * " + rate("fairlead_lease_expirations", "queue"), "{{queue}}"),
            ),
            runbook="FairleadLeasesExpire",
            empty="No attempt was taken back.",
        ),
        Panel(
            title="Child processes that died",
            about="Per minute, by worker. Includes children that were killed because "
            "their job did not stop.",
            act="Memory, or a library that crashes: the worker's log names the job and "
            "the signal.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_child_deaths", "instance", INSTANCE),
                    "{{instance}}",
                ),
            ),
            runbook="FairleadCrashBreakersOpen",
            empty="There is no worker.",
        ),
        Panel(
            title="Interrupted attempts and stale writes",
            about="Per minute: attempts that were handed back, by reason, and endings "
            "that changed nothing, because the attempt had lost its job.",
            act="Normal right after a rollout. Otherwise check which workers leave, and why.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_jobs_interrupted", "reason", INSTANCE),
                    "{{reason}}",
                ),
                Query("60 * " + rate("fairlead_stale_writes", "", INSTANCE), "stale writes"),
            ),
            empty="No attempt was interrupted.",
        ),
    ),
)

BOARD = Board(
    uid=common.WORKERS,
    title="Fairlead: workers and database",
    about="Whether there are enough slots, whether workers die, and whether PostgreSQL "
    "is healthy.",
    choices=(common.ONE, common.JOBS, common.POOLS, common.INSTANCES),
    events=(common.LEAD_CHANGED,),
    rows=(_VERDICTS, _SLOTS, _CLAIMS, _LEASES, HORIZON, GROWTH),
)
