"""The database's rows of the board of workers: what its leader sees of PostgreSQL."""

from docs.generate.dashboards.parts import Panel, Query, Row, bad_above
from docs.generate.dashboards.promql import highest, quantile, rate, series

HORIZON = Row(
    "Is PostgreSQL well?",
    (
        Panel(
            title="Oldest snapshot, by who holds it",
            about="For how long dead rows have been kept because of a transaction, a prepared "
            "one, a replication slot or a standby.",
            act="`transaction`: find it in pg_stat_activity by backend_xmin and end it. "
            "`replication_slot`: drop one that nobody reads.",
            unit="s",
            runbook="FairleadVacuumHeld",
            queries=(
                Query(highest("fairlead_db_oldest_xmin_age_seconds", "holder"), "{{holder}}"),
            ),
            steps=bad_above(300, 900),
            empty="Not measured: nobody leads.",
        ),
        Panel(
            title="The same, in transactions",
            about="How many transactions ago it began; what is dead since then stays.",
            act="Hundreds of thousands beside a busy queue: claims get slower.",
            unit="short",
            queries=(
                Query(
                    highest("fairlead_db_oldest_xmin_age_transactions", "holder"), "{{holder}}"
                ),
            ),
            empty="Not measured: nobody leads.",
        ),
        Panel(
            title="Connections",
            about="Client sessions of the server by program, and how many there may be.",
            act="`other` is not Fairlead: applications, people, tools. `worker` grows with "
            "the pods: bound them, or use PgBouncer.",
            unit="short",
            runbook="FairleadConnectionsExhausted",
            queries=(
                Query(highest("fairlead_db_connections", "program"), "{{program}}"),
                Query(f"max({series('fairlead_db_connections_max')})", "at most"),
            ),
            empty="Not measured: nobody leads.",
        ),
        Panel(
            title="Chores that fail",
            about="Statements a minute beside the leader's loop that failed and are tried "
            "again.",
            act="The scheduler's log has the error. Time-outs: the server is overloaded.",
            unit="cpm",
            queries=(
                Query(
                    "60 * " + rate("fairlead_scheduler_chore_failures", "chore"), "{{chore}}"
                ),
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
            about="Rows that are dead and not yet removed, by PostgreSQL's statistics.",
            act="A saw tooth is autovacuum at work. A climb without teeth: something holds a "
            "snapshot, or autovacuum does not come.",
            unit="short",
            queries=(Query(highest("fairlead_db_table_dead_rows", "table"), "{{table}}"),),
            empty="Not measured: nobody leads.",
        ),
        Panel(
            title="Dead part, by table",
            about="Dead rows over all rows. Small tables jump; nothing of them matters.",
            act="Near 1 for `jobs` or `work_queue` over hours: see the oldest snapshot.",
            unit="percentunit",
            queries=(Query(highest("fairlead_db_table_bloat_ratio", "table"), "{{table}}"),),
            highest=1,
            empty="Not measured: nobody leads.",
        ),
        Panel(
            title="Size, by table",
            about="Size of each table and of its indexes.",
            act="`job_history` grows with what is kept: shorten how long. Others should level "
            "off; if not, see the dead rows.",
            unit="bytes",
            queries=(
                Query(highest("fairlead_db_table_size_bytes", "table"), "{{table}}"),
                Query(highest("fairlead_db_table_index_bytes", "table"), "{{table}}, indexes"),
            ),
            empty="Not measured: nobody leads.",
        ),
        Panel(
            title="Measuring takes",
            about="How long reading depths and ages of all queues took: half and 95 in 100 "
            "stay below. It is done every five seconds.",
            act="Seconds: many queues with long backlogs, or a slow server.",
            unit="s",
            queries=tuple(
                Query(quantile(part, "fairlead_db_snapshot_duration_seconds", ""), name)
                for part, name in ((0.5, "p50"), (0.95, "p95"))
            ),
            steps=bad_above(1, 10),
            empty="Nobody leads.",
        ),
    ),
)
