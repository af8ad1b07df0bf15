"""Workers and database: slots, claims, completions, leases, and how PostgreSQL fares."""

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
    "Is something wrong? Green: no.",
    (
        Panel(
            title="Pools without a worker",
            about="Pools of the policy in which no worker lives, or all leave.",
            act="Their jobs wait. Scaled to zero on purpose? Else look at the pool's pods, "
            "and at the autoscaler.",
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
            about="Which part of all slots is taken. Near 1, and a backlog: too few slots.",
            act="Add workers, unless the time goes into jobs that should be quicker: see their "
            "run times.",
            unit="percentunit",
            queries=(Query(_FULL, "in use"),),
            look=Look.NUMBER,
            empty="no worker",
            highest=1,
            decimals=0,
        ),
        Panel(
            title="Longest job that runs",
            about="How long the oldest attempt has run.",
            act="Longer than any of your jobs should: it is stuck. `fairlead jobs cancel` ends "
            "it; give its kind a timeout.",
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
            title="Claims take",
            about="What 95 in 100 claims stay below.",
            act="Tenths of a second: the database is slow, or walks over dead rows: see the "
            "oldest snapshot and the dead rows below.",
            unit="s",
            queries=(
                Query(quantile(0.95, "fairlead_claim_duration_seconds", "", INSTANCE), "p95"),
            ),
            look=Look.NUMBER,
            steps=bad_above(0.1, 0.5),
            empty="none claims",
        ),
        Panel(
            title="Leases lost",
            about="Leases that workers lost, in the time shown, so that they ended their own "
            "handlers.",
            act="The worker could not reach the database for its whole lease, or was frozen: "
            "see its node, and connections below.",
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
            about="For how long somebody's transaction, slot or standby has kept PostgreSQL "
            "from removing dead rows.",
            act="Minutes: find it below by who holds it, and end it. Claims get slower the "
            "longer it lasts.",
            unit="s",
            runbook="FairleadVacuumHeld",
            queries=(Query(f"max({series('fairlead_db_oldest_xmin_age_seconds')})", "age"),),
            look=Look.NUMBER,
            steps=bad_above(300, 900),
            empty="not measured",
        ),
        Panel(
            title="Connections in use",
            about="Which part of the connections that PostgreSQL gives to ordinary logins is "
            "taken, by whomever.",
            act="Nearly 1: new pods will not get one. See below who has them; lower pools, "
            "use PgBouncer, or raise `max_connections`.",
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
            about="Which part of the rows of the table that is worst, among those with over "
            "10,000 dead ones, is dead.",
            act="VACUUM does not come through: see the oldest snapshot, then autovacuum's "
            "limits.",
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
            about="Jobs that may run at a time, and that do, by pool.",
            act="In use at the top for long, and a backlog: add workers. Far below the top, "
            "and a backlog: a limit holds jobs back, see the Fairness dashboard.",
            unit="short",
            queries=(
                Query(total("fairlead_worker_slots", "pool", POOL), "{{pool}} there are"),
                Query(total("fairlead_worker_slots_busy", "pool", POOL), "{{pool}} in use"),
            ),
            empty="No worker is there.",
        ),
        Panel(
            title="Workers",
            about="Workers by state: `live`, `draining` (they finish and leave), `lapsed` "
            "(their lease is over).",
            act="`lapsed` ones are being taken back: see whether they were killed.",
            unit="short",
            queries=(
                Query(highest("fairlead_workers", "pool, state", POOL), "{{pool}} {{state}}"),
            ),
            look=Look.STACK,
            empty="Nobody leads.",
        ),
        Panel(
            title="Run time of the slowest kinds",
            about="What 95 in 100 runs of a kind stay below, of the ten slowest.",
            act="A kind that got slower takes more slots for the same work: see what it calls.",
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
            about="How long the oldest attempt of each worker has run.",
            act="A line that climbs for hours is a handler that is stuck.",
            unit="s",
            queries=(
                Query(
                    "topk(10, "
                    + highest("fairlead_job_longest_running_seconds", "instance", INSTANCE)
                    + ")",
                    "{{instance}}",
                ),
            ),
            empty="No worker is there.",
        ),
    ),
)

_CLAIMS = Row(
    "Is the way through the database quick?",
    (
        Panel(
            title="Claims",
            about="How long taking jobs took: half, 95 and 99 in 100 stay below.",
            act="Slow while the server is idle: dead rows; see the oldest snapshot. Slow with "
            "everything: the server.",
            unit="s",
            queries=tuple(
                Query(quantile(part, "fairlead_claim_duration_seconds", "", INSTANCE), name)
                for part, name in common.PARTS
            ),
            empty="None claims.",
        ),
        Panel(
            title="Completions",
            about="How long writing a batch of endings took: half, 95 and 99 in 100 stay "
            "below.",
            act="Slow: an application keeps its jobs' rows locked, or the disk is slow.",
            unit="s",
            queries=tuple(
                Query(
                    quantile(part, "fairlead_completion_duration_seconds", "", INSTANCE), name
                )
                for part, name in common.PARTS
            ),
            empty="Nothing ended.",
        ),
        Panel(
            title="Jobs for each claim and completion",
            about="How many jobs one statement takes or ends, on average.",
            act="Higher under load, which is good: fewer statements for the same jobs.",
            unit="short",
            queries=(
                Query(mean("fairlead_claim_batch_size", "", INSTANCE), "claim"),
                Query(mean("fairlead_completion_batch_size", "", INSTANCE), "completion"),
            ),
            empty="None claims.",
        ),
        Panel(
            title="Dispatch lag",
            about="From the moment that a scheduler's look was due to the end of its "
            "dispatch: half, 95 and 99 in 100 stay below.",
            act="Tenths of a second: the leader lacks processor time, or the database is slow.",
            unit="s",
            runbook="FairleadSchedulerLag",
            queries=tuple(
                Query(quantile(part, "fairlead_scheduler_lag_seconds", "", INSTANCE), name)
                for part, name in common.PARTS
            ),
            steps=bad_above(0.25, 1),
            empty="Nobody leads.",
        ),
    ),
)

_LEASES = Row(
    "Do workers die?",
    (
        Panel(
            title="Lease renewals",
            about="Renewals a second by result: `renewed`, `failed` (the database did not "
            "answer), `dead` (the lease was over).",
            act="`failed` on all at once is the database; on one worker its network. `dead` "
            "ends that worker's handlers.",
            unit="ops",
            queries=(Query(rate("fairlead_lease_renewals", "result", INSTANCE), "{{result}}"),),
            look=Look.STACK,
            empty="No worker is there.",
        ),
        Panel(
            title="Attempts taken back, by queue",
            about="Attempts a minute that the leader took back from lost workers, or long past "
            "their deadline.",
            act="One queue only: its jobs kill their workers, mostly by memory. All: nodes go.",
            unit="cpm",
            queries=(
                Query("60 * " + rate("fairlead_lease_expirations", "queue"), "{{queue}}"),
            ),
            runbook="FairleadLeasesExpire",
            empty="None was taken back.",
        ),
        Panel(
            title="Child processes that died",
            about="A minute, by worker; killed ones count, whose job did not stop.",
            act="Memory, or a library that crashes: the worker's log names job and signal.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_child_deaths", "instance", INSTANCE),
                    "{{instance}}",
                ),
            ),
            empty="No worker is there.",
        ),
        Panel(
            title="Interrupted and too late",
            about="Attempts a minute that were handed back, by why, and endings that changed "
            "nothing, because the attempt had lost its job.",
            act="Right after a rollout it is usual. Else see which workers leave and why.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_jobs_interrupted", "reason", INSTANCE),
                    "{{reason}}",
                ),
                Query("60 * " + rate("fairlead_stale_writes", "", INSTANCE), "too late"),
            ),
            empty="None was interrupted.",
        ),
    ),
)

BOARD = Board(
    uid=common.WORKERS,
    title="Fairlead: workers and database",
    about="Whether there are enough slots, whether workers die, and how PostgreSQL fares.",
    choices=(common.ONE, common.JOBS, common.POOLS, common.INSTANCES),
    events=(common.LEAD_CHANGED,),
    rows=(_VERDICTS, _SLOTS, _CLAIMS, _LEASES, HORIZON, GROWTH),
)
