"""Rows of the workers' dashboard about PostgreSQL, as the leading scheduler measures it."""

from docs.generate.dashboards.parts import Panel, Query, Row, bad_above
from docs.generate.dashboards.promql import highest, quantile, rate, series

HORIZON = Row(
    "Is PostgreSQL healthy?",
    (
        Panel(
            title="Oldest snapshot, by holder",
            about="How long a transaction, a prepared transaction, a replication slot "
            "or a standby has kept dead rows from being removed.",
            act="`transaction`: find it in pg_stat_activity by backend_xmin and end "
            "it. `replication_slot`: drop it if it has no reader.",
            unit="s",
            runbook="FairleadVacuumHeld",
            queries=(
                Query(highest("fairlead_db_oldest_xmin_age_seconds", "holder"), "{{holder}}"),
            ),
            steps=bad_above(300, 900),
            empty="Not measured: no scheduler leads.",
        ),
        Panel(
            title="Oldest snapshot, in transactions",
            about="How many transactions ago it began; rows that died since then stay.",
            act="Hundreds of thousands next to a busy queue: claims get slower.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_db_oldest_xmin_age_transactions", "holder"), "{{holder}}"
                ),
            ),
            empty="Not measured: no scheduler leads.",
        ),
        Panel(
            title="Connections",
            about="Client sessions of the server by program, and their limit.",
            act="`other` is not Fairlead: applications, people, tools. `worker` grows "
            "with the pods: limit them, or use PgBouncer.",
            unit="short",
            runbook="FairleadConnectionsExhausted",
            queries=(
                Query(highest("fairlead_db_connections", "program"), "{{program}}"),
                Query(f"max({series('fairlead_db_connections_max')})", "limit"),
            ),
            empty="Not measured: no scheduler leads.",
        ),
        Panel(
            title="Failed periodic tasks",
            about="Failed statements per minute of the leader's periodic tasks; each "
            "is tried again.",
            act="The scheduler's log has the error. Time-outs mean that the server is "
            "overloaded.",
            unit="cpm",
            queries=(
                Query("60 * " + rate("fairlead_scheduler_task_failures", "task"), "{{task}}"),
            ),
            empty="None failed.",
        ),
    ),
)

GROWTH = Row(
    "Do its tables grow?",
    (
        Panel(
            title="Dead rows, by table",
            about="Dead rows that are not removed yet, from PostgreSQL's statistics.",
            act="A saw tooth is autovacuum at work. A climb without teeth: something "
            "holds a snapshot, or autovacuum does not run.",
            unit="short",
            queries=(Query(highest("fairlead_db_table_dead_rows", "table"), "{{table}}"),),
            empty="Not measured: no scheduler leads.",
        ),
        Panel(
            title="Share of dead rows, by table",
            about="Dead rows divided by all rows. Small tables jump, which does not matter.",
            act="Near 1 for `jobs` or `work_queue` over hours: see the oldest snapshot.",
            unit="percentunit",
            queries=(Query(highest("fairlead_db_table_bloat_ratio", "table"), "{{table}}"),),
            highest=1,
            empty="Not measured: no scheduler leads.",
        ),
        Panel(
            title="Size, by table",
            about="Size of each table and of its indexes.",
            act="`job_history` grows with its retention: shorten that. The others "
            "should level off; if not, see the dead rows.",
            unit="bytes",
            queries=(
                Query(highest("fairlead_db_table_size_bytes", "table"), "{{table}}"),
                Query(highest("fairlead_db_table_index_bytes", "table"), "{{table}}, indexes"),
            ),
            empty="Not measured: no scheduler leads.",
        ),
        Panel(
            title="Time to measure queues",
            about="How long it takes to read the depths and ages of all queues: median "
            "and 95th percentile. The leader does it every five seconds.",
            act="Seconds: many queues with long backlogs, or a slow server.",
            unit="s",
            queries=tuple(
                Query(quantile(part, "fairlead_db_snapshot_duration_seconds", ""), name)
                for part, name in ((0.5, "p50"), (0.95, "p95"))
            ),
            steps=bad_above(1, 10),
            empty="No scheduler leads.",
        ),
    ),
)
