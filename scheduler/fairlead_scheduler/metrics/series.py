"""Every series of the scheduler, named once."""

from fairlead.metrics.series import (
    BUILD_INFO,
    GENERATION,
    LEADER,
    LEADER_TRANSITIONS,
    RELOAD_SUCCESSFUL,
    RELOADED_AT,
    Series,
    counter,
    gauge,
    histogram,
    leaders,
)

_LAG_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_BATCHES = (1, 10, 100, 1000, 10_000)
_READ_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60)
_JOB = ("queue", "kind")
_TENANT = ("queue", "tenant")
_GROUP = ("pool", "group")

# --- what ends, and what begins ---------------------------------------------------------------

JOBS_FINISHED = counter(
    "jobs_finished_total",
    "Jobs that finished without a worker, cancelled or expired before they started or failed "
    "when it was lost, and those of workers that speak only SQL.",
    *_JOB,
    "outcome",
)
ATTEMPTS_ENDED = counter(
    "attempts_ended_total",
    "Attempts that the leader took back, as `lost`, and those of workers that speak only SQL.",
    *_JOB,
    "ended_as",
)
LEASE_EXPIRATIONS = counter(
    "lease_expirations_total",
    "Attempts taken back from lost workers or long past their deadline, by queue.",
    "queue",
)
JOBS_RESCUED = counter(
    "jobs_rescued_total",
    "Attempts taken back from lost workers or long past their deadline, all queues together.",
)
JOBS_RUNNABLE = counter(
    "jobs_runnable_total", "Jobs that became runnable: inserted, or fallen due.", "queue"
)
EVICTIONS = counter(
    "evictions_total",
    "Running jobs that were asked to stop so that a tenant without any could run.",
    "queue",
)
SERIES_DROPPED = counter(
    "series_dropped_total",
    "Observations counted under `other` because there are too many queues, kinds or pools.",
)

# --- queues -----------------------------------------------------------------------------------

QUEUE_DEPTH = leaders(
    "queue_depth",
    "Jobs of a queue by state: pending, queued, running (leased by a worker) or scheduled;"
    " each counted up to 10,000.",
    "queue",
    "state",
)
OLDEST_READY = leaders(
    "queue_oldest_ready_age_seconds",
    "How long the oldest ready job has waited: pending jobs as of the last scan of all "
    "lanes (`FAIRLEAD_SCAN_SECONDS`), queued jobs as of now.",
    "queue",
)
BACKLOG_WORK = leaders(
    "queue_backlog_work_seconds",
    "Slot-seconds of waiting work: pending and queued jobs, as counted, times the recent "
    "mean run time; no series before a run has ended.",
    "queue",
)
SCHEDULED_NEXT = leaders(
    "queue_scheduled_next_jobs",
    "Scheduled jobs that fall due within 1m, 10m or 1h; only the soonest 10,000 of all "
    "queues are counted.",
    "queue",
    "within",
)
QUEUE_LAG = leaders(
    "queue_lag_slot_seconds",
    "Slot-seconds that a queue's tenants had in the last minute beyond what they were "
    "entitled to; below zero they are behind.",
    "queue",
)
DEAD_JOBS = leaders(
    "dead_jobs",
    "Jobs that failed for good and were not redriven, within the history that is kept; "
    "counted up to 10,000, once a minute.",
    "queue",
)

# --- fairness ---------------------------------------------------------------------------------

TENANT_SHARE = leaders(
    "tenant_share", "The tenant's share of all slot-seconds of the last minute.", *_TENANT
)
TENANT_ENTITLED = leaders(
    "tenant_entitled_share",
    "The share that the tenant would have had under an ideal fair order.",
    *_TENANT,
)
TENANT_LAG = leaders(
    "tenant_lag_slot_seconds",
    "Slot-seconds that the tenant had in the last minute beyond what it was entitled to; "
    "below zero it is behind.",
    *_TENANT,
)
TENANT_RUNNING = leaders("tenant_running", "Jobs of the tenant that workers hold.", *_TENANT)
TENANT_WAIT = leaders(
    "tenant_oldest_wait_seconds", "How long the tenant's oldest job has waited.", *_TENANT
)
TENANTS = leaders(
    "tenants",
    "Tenants of a pool by group: `noisy` ones had pending jobs throughout the last minute "
    "(they want more than they get), `quiet` ones are the others with work in it.",
    *_GROUP,
)
TENANTS_WAIT = leaders(
    "tenants_oldest_wait_seconds",
    "How long the oldest job of the group has waited: a fair order keeps it short for the "
    "quiet group.",
    *_GROUP,
)
JAIN = leaders(
    "fairness_jain",
    "Jain's index of received over entitled slot-seconds, over the pool's tenants that "
    "waited throughout the last minute: 1 is even; NaN with fewer than two.",
    "pool",
)
LANES_BLOCKED = leaders(
    "lanes_blocked",
    "Lanes with work that are blocked, by reason: `limit`, `rate`, `paused` or `hold` (a "
    "rule of the policy) of the tenant or its queue; `pool`: no pool serves the queue; "
    "`full`: workers have no room for more of their kinds; "
    "`reserve`: slots are kept for short jobs; `kind`: as many of the next jobs' kinds are in "
    "flight as their handlers' `fleet_concurrency`; `key` or `hold`: each of the next jobs is "
    "blocked by a concurrency key or a rule.",
    "reason",
)
LANES_OVER_BACKLOG = gauge(
    "lanes_over_backlog",
    "Lanes and queues that accept no more jobs because of their backlog limit; 0 unless "
    "this process leads. Only the applications know how many INSERTs are refused.",
)
BACKLOG_AGE = gauge(
    "backlog_count_age_seconds",
    "Age of the oldest count that the last counting of backlogs replaced: over 5, backlog "
    "limits take effect late. 0 unless this process leads.",
)

# --- workers and the database -----------------------------------------------------------------

WORKERS = leaders(
    "workers",
    "Workers by lease: live, draining (takes no more jobs) or lapsed (about to be declared"
    " dead). Every pool of the policy has a row, even without workers.",
    "pool",
    "state",
)
UNHANDLED = leaders(
    "unhandled_jobs",
    "Jobs that wait because no worker of their pool has a handler for their kind: the twenty "
    "kinds with most, of the next 10,000 jobs to fall due.",
    "kind",
)
BATCHES = leaders(
    "batches",
    "Batches that are not over, by state: open (until `close_batch`), waiting (for their jobs) "
    "or refused (the completion cannot be inserted, which is tried again each second). Of the "
    "oldest 10,000.",
    "state",
)
BATCHES_AGE = leaders(
    "batches_oldest_age_seconds",
    "How long ago the oldest of the batches that are not over was inserted, by state; 0 "
    "without any.",
    "state",
)
CONNECTIONS = leaders(
    "db_connections",
    "Client sessions of all databases of the server, by program: scheduler, worker, "
    "autoscaler or other.",
    "program",
)
CONNECTIONS_MAX = leaders(
    "db_connections_max",
    "Sessions that logins without special rights may open: max_connections less the "
    "reserved ones.",
)
XMIN_SECONDS = leaders(
    "db_oldest_xmin_age_seconds",
    "How long dead rows have been kept from removal, by kind of holder: a transaction, a "
    "prepared transaction, a replication_slot or a standby; 0 if there is none. A lower "
    "bound if it began before this process led.",
    "holder",
)
XMIN_TRANSACTIONS = leaders(
    "db_oldest_xmin_age_transactions",
    "Transactions that began since the oldest holder of dead rows did.",
    "holder",
)
TABLE_DEAD = leaders(
    "db_table_dead_rows",
    "Dead rows of a table (deleted or updated, not yet removed), by the server's statistics.",
    "table",
)
TABLE_BLOAT = leaders(
    "db_table_bloat_ratio",
    "Dead rows as a share of all rows of a table. A small table's ratio is high between "
    "two vacuums: check the number of dead rows as well.",
    "table",
)
TABLE_BYTES = leaders("db_table_size_bytes", "Size of a table without its indexes.", "table")
INDEX_BYTES = leaders("db_table_index_bytes", "Size of a table's indexes.", "table")
SNAPSHOT_AT = gauge(
    "db_snapshot_timestamp_seconds",
    "When the queues were last measured, in seconds since 1970; 0 unless this process leads.",
)
SNAPSHOT_DURATION = histogram(
    "db_snapshot_duration_seconds", "How long measuring the queues took.", _READ_SECONDS
)

# --- the policy -------------------------------------------------------------------------------

POLICY_INFO = leaders("policy_info", "1 for the policy in force.", "digest", "version")
POOL_OBJECTIVE = leaders(
    "pool_objective_seconds",
    "How long jobs of the pool may wait, by the objective of the policy in force; no "
    "series for a pool without one.",
    "pool",
)
POLICY_REFUSED = counter(
    "policy_refused_total",
    "Policies refused by `apply` or `fairlead dev`, or stored but not readable by the "
    "leader; the last good one stays in force. The leader counts them, within 2 s.",
)
SHADOW_MOVED = leaders(
    "policy_shadow_moved_share",
    "Share of the pool's slots in use that would go to other tenants under the shadow policy.",
    "pool",
    "digest",
)
SHADOW_WAIT = leaders(
    "policy_shadow_wait_p99_seconds",
    "99th percentile of the simulated waits of all jobs, under the policy `in_force` and "
    "under the `shadow`.",
    "pool",
    "policy",
)
SHADOW_AT = gauge(
    "policy_shadow_timestamp_seconds",
    "When the shadow policy was last simulated, in seconds since 1970; 0 if there is none,"
    " or unless this process leads.",
)
SHADOW_FAILED = counter(
    "policy_shadow_failed_total",
    "Simulations of the shadow policy that failed: no such version is stored, no worker is"
    " live, or they took too long.",
)
RULE_TRUE = leaders(
    "policy_rule_true",
    "How many a rule holds for: 1 or 0 for a condition that reads neither lanes nor jobs "
    "(true in all pools or in one); otherwise the lanes, or how often it was true for a "
    "job in the last second.",
    "rule",
)
RULE_OVERRUNS = counter(
    "policy_rule_overruns_total",
    "Evaluations of a rule's condition that took over 5 ms; three in a row disable the "
    "rule. At most 200 rules have labels of their own.",
    "rule",
)
RULE_ERRORS = counter(
    "policy_rule_errors_total",
    "Evaluations of a rule's condition that gave no value; three disable the rule.",
    "rule",
)

# --- the loop and the background tasks --------------------------------------------------------

TICKS = counter("scheduler_ticks_total", "Ticks of the scheduler's loop.")
LAG = histogram(
    "scheduler_lag_seconds",
    "Time from when a tick was due to the end of its dispatch.",
    _LAG_SECONDS,
)
DISPATCHED = counter("scheduler_dispatched_total", "Jobs put into `work_queue`.")
OVERFLOW = counter(
    "scheduler_overflow_total",
    "Jobs put into `work_queue` beyond its depth, because they precede queued ones or "
    "belong to a reserve: such as those of quiet tenants during a flood.",
    "pool",
)
TASK_FAILURES = counter(
    "scheduler_task_failures_total",
    "Statements of background tasks (sweeps, counts, retention) that failed and are retried.",
    "task",
)
PROMOTE_BATCH = histogram(
    "promote_batch", "Jobs promoted together when they fell due.", _BATCHES
)
TENANTS_OVER_LANES = gauge(
    "tenants_over_lanes",
    "Tenants with pending jobs in more queues than the leader keeps of one tenant: jobs in the "
    "other queues wait until some of these have run.",
)
LANES_UNWATCHED = gauge(
    "lanes_unwatched",
    "All lanes of the leader, each priority apart, while an open transaction may commit jobs "
    "that it finds only when it reads all lanes anew; else 0. That is so in the first seconds "
    "of a term and while such a transaction stays open.",
)
UNCHECKED = counter(
    "jobs_unchecked_total",
    "Jobs with a value that no INSERT is admitted with, as a superuser or a restore can store "
    "them: what the services read of them is clamped.",
)
WAKES_LEFT_OUT = counter(
    "wakes_left_out_total",
    "Wake-ups of workers that were left out, because half of the server's queue of "
    "notifications was full: workers found the jobs by polling.",
)
CRON_MISSED = counter(
    "cron_missed_total",
    "Fires of schedules that were missed: they came over 10 s late, and the scheduler was not "
    "behind with others for as long.",
)
CRON_REFUSED = counter(
    "cron_refused_total",
    "Fires of schedules whose lane was over its backlog limit; the schedule's `missed` "
    "decides what happens to them.",
)
CRON_DELAYED = counter(
    "cron_delayed_total",
    "Fires of schedules that had to wait because their tenant has more than "
    "`FAIRLEAD_TENANT_FIRES_PER_SECOND`.",
)
CRON_PASSED_OVER = counter(
    "cron_passed_over_total",
    "Fires of schedules after which others were passed over, because they come sooner than "
    "`FAIRLEAD_SCHEDULE_INTERVAL_SECONDS`.",
)
CRON_SET_ASIDE = counter(
    "cron_set_aside_total",
    "Fires of schedules that were put off by a minute: inserting one by itself took longer "
    "than a statement of the leader may.",
)

SERIES: tuple[Series, ...] = (
    *(JOBS_FINISHED, ATTEMPTS_ENDED, LEASE_EXPIRATIONS, JOBS_RESCUED, JOBS_RUNNABLE),
    EVICTIONS,
    *(QUEUE_DEPTH, OLDEST_READY, BACKLOG_WORK, SCHEDULED_NEXT, QUEUE_LAG, DEAD_JOBS),
    *(TENANT_SHARE, TENANT_ENTITLED, TENANT_LAG, TENANT_RUNNING, TENANT_WAIT),
    *(TENANTS, TENANTS_WAIT, JAIN, LANES_BLOCKED, LANES_OVER_BACKLOG, BACKLOG_AGE),
    *(WORKERS, UNHANDLED, BATCHES, BATCHES_AGE),
    *(CONNECTIONS, CONNECTIONS_MAX, XMIN_SECONDS, XMIN_TRANSACTIONS),
    *(TABLE_DEAD, TABLE_BLOAT, TABLE_BYTES, INDEX_BYTES, SNAPSHOT_AT, SNAPSHOT_DURATION),
    *(POLICY_INFO, POOL_OBJECTIVE, POLICY_REFUSED),
    *(RELOAD_SUCCESSFUL, RELOADED_AT, GENERATION),
    *(SHADOW_MOVED, SHADOW_WAIT, SHADOW_AT, SHADOW_FAILED),
    *(RULE_TRUE, RULE_OVERRUNS, RULE_ERRORS, LEADER, LEADER_TRANSITIONS),
    *(TICKS, LAG, DISPATCHED, OVERFLOW, TASK_FAILURES, PROMOTE_BATCH),
    *(TENANTS_OVER_LANES, LANES_UNWATCHED, UNCHECKED, WAKES_LEFT_OUT),
    *(CRON_MISSED, CRON_REFUSED, CRON_DELAYED, CRON_PASSED_OVER, CRON_SET_ASIDE),
    *(SERIES_DROPPED, BUILD_INFO),
)
