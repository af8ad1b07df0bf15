"""Every series of the scheduler, named once."""

from fairlead.series import (
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
    "Jobs that ended for good without a worker: cancelled or expired before they started, or "
    "failed with their worker.",
    *_JOB,
    "outcome",
)
ATTEMPTS_ENDED = counter(
    "attempts_ended_total", "Attempts that the leader took back: lost.", *_JOB, "ended_as"
)
LEASE_EXPIRATIONS = counter(
    "lease_expirations_total",
    "Attempts that were taken back from lost workers, or long past their deadline.",
    "queue",
)
JOBS_RESCUED = counter(
    "jobs_rescued_total", "Attempts that were taken back so, whatever their queue."
)
JOBS_RUNNABLE = counter(
    "jobs_runnable_total", "Jobs that became runnable: inserted, or fallen due.", "queue"
)
SERIES_DROPPED = counter(
    "series_dropped_total",
    "Observations counted under `other` because there are too many queues or kinds.",
)

# --- queues -----------------------------------------------------------------------------------

QUEUE_DEPTH = leaders(
    "queue_depth",
    "Jobs of a queue: pending, queued, running (leased by a worker) or scheduled, counted up "
    "to 10,000 each.",
    "queue",
    "state",
)
OLDEST_READY = leaders(
    "queue_oldest_ready_age_seconds",
    "For how long the oldest ready job has waited: of the pending ones as of the last survey "
    "of all lanes (`FAIRLEAD_SURVEY_SECONDS`), of the queued ones as of now.",
    "queue",
)
BACKLOG_WORK = leaders(
    "queue_backlog_work_seconds",
    "Slot-seconds of work that waits: pending and queued jobs, as counted, times the recent "
    "mean run; no series before a run has ended.",
    "queue",
)
SCHEDULED_NEXT = leaders(
    "queue_scheduled_next_jobs",
    "Scheduled jobs that fall due within 1m, 10m or 1h; the soonest 10,000 of all are counted.",
    "queue",
    "within",
)
QUEUE_LAG = leaders(
    "queue_lag_slot_seconds",
    "Slot-seconds of the last minute that a queue's tenants had beyond what they were entitled "
    "to; below zero they are behind.",
    "queue",
)
DEAD_JOBS = leaders(
    "dead_jobs",
    "Jobs that failed for good and were not repeated, as long as their history is kept, "
    "counted up to 10,000 once a minute.",
    "queue",
)

# --- fairness ---------------------------------------------------------------------------------

TENANT_SHARE = leaders(
    "tenant_share", "The tenant's part of all slot-seconds of the last minute.", *_TENANT
)
TENANT_ENTITLED = leaders(
    "tenant_entitled_share",
    "What that would have been under an ideal fair order.",
    *_TENANT,
)
TENANT_LAG = leaders(
    "tenant_lag_slot_seconds",
    "Slot-seconds of the last minute that the tenant had beyond what it was entitled to; below "
    "zero it is behind.",
    *_TENANT,
)
TENANT_RUNNING = leaders("tenant_running", "Jobs of the tenant that workers hold.", *_TENANT)
TENANT_WAIT = leaders(
    "tenant_oldest_wait_seconds", "For how long the tenant's oldest job has waited.", *_TENANT
)
TENANTS = leaders(
    "tenants",
    "Tenants of a pool that had something pending all the last minute (`noisy`: they want more "
    "than they get), and the others that had work in it (`quiet`).",
    *_GROUP,
)
TENANTS_WAIT = leaders(
    "tenants_oldest_wait_seconds",
    "For how long the oldest job of the group has waited: a fair order keeps that of the quiet "
    "ones short.",
    *_GROUP,
)
JAIN = leaders(
    "fairness_jain",
    "Jain's index of what tenants of a pool that waited all the last minute had over what they "
    "were entitled to: 1 is even; not a number with fewer than two.",
    "pool",
)
LANES_BLOCKED = leaders(
    "lanes_blocked",
    "Tenants of queues that have work and are held back by a limit, a rate, a pause or a rule "
    "of the policy (`hold`), of their own or of their queue, because no `pool` serves their "
    "queue, because their jobs are long and slots are kept for short ones (`reserve`), or "
    "because a `key`, or a rule (`hold`), holds each of their next jobs.",
    "reason",
)
LANES_OVER_BACKLOG = gauge(
    "lanes_over_backlog",
    "Tenants of queues, and queues, that accept no more jobs because of their backlog limit; 0 "
    "where this process does not lead. INSERTs that are refused are known to the applications "
    "alone.",
)
BACKLOG_AGE = gauge(
    "backlog_count_age_seconds",
    "How old the oldest of the counts was that the last counting of backlogs replaced: over 5 "
    "says that backlog limits are held late. 0 where this process does not lead.",
)

# --- workers and the database -----------------------------------------------------------------

WORKERS = leaders(
    "workers",
    "Workers by their leases: live, draining (it takes no more jobs) or lapsed (to be declared "
    "dead). A pool of the policy has a row without any, too.",
    "pool",
    "state",
)
CONNECTIONS = leaders(
    "db_connections",
    "Sessions of clients, of all databases of the server: the scheduler's, workers' and the "
    "autoscaler's by their names, and other ones.",
    "program",
)
CONNECTIONS_MAX = leaders(
    "db_connections_max",
    "Sessions that logins without special rights may open: max_connections less what is "
    "reserved.",
)
XMIN_SECONDS = leaders(
    "db_oldest_xmin_age_seconds",
    "For how long rows that were deleted since cannot be cleaned away, by what keeps them: a "
    "transaction, a prepared transaction, a replication_slot or a standby; 0 if nothing does. "
    "At least that, if it began before this process led.",
    "holder",
)
XMIN_TRANSACTIONS = leaders(
    "db_oldest_xmin_age_transactions",
    "How many transactions began since what keeps dead rows from being cleaned away did.",
    "holder",
)
TABLE_DEAD = leaders(
    "db_table_dead_rows",
    "Dead rows of a table by the server's statistics: deleted or changed, and still there.",
    "table",
)
TABLE_BLOAT = leaders(
    "db_table_bloat_ratio",
    "Which part of a table's rows is dead. A small table's is high between two vacuums: ask "
    "for many dead rows as well.",
    "table",
)
TABLE_BYTES = leaders("db_table_size_bytes", "Size of a table without its indexes.", "table")
INDEX_BYTES = leaders("db_table_index_bytes", "Size of a table's indexes.", "table")
SNAPSHOT_AT = gauge(
    "db_snapshot_timestamp_seconds",
    "When the queues were measured last, in seconds since 1970; 0 where this process does not "
    "lead.",
)
SNAPSHOT_DURATION = histogram(
    "db_snapshot_duration_seconds", "How long measuring the queues took.", _READ_SECONDS
)

# --- the policy -------------------------------------------------------------------------------

POLICY_INFO = leaders("policy_info", "1 for the policy in force.", "digest", "version")
POOL_OBJECTIVE = leaders(
    "pool_objective_seconds",
    "How long jobs of the pool may wait, by the policy in force; no series where that says "
    "nothing of it.",
    "pool",
)
POLICY_REFUSED = counter(
    "policy_refused_total",
    "Policies that were refused by `apply` or `fairlead dev`, or stored and not readable by "
    "the leader: the last good one stayed in force. The leader counts them, within 2 s.",
)
SHADOW_MOVED = leaders(
    "policy_shadow_moved_share",
    "Which part of the pool's slots in use other tenants would have under the shadow policy.",
    "pool",
    "digest",
)
SHADOW_WAIT = leaders(
    "policy_shadow_wait_p99_seconds",
    "The simulated wait of everybody's jobs, `in_force` and under the `shadow`.",
    "pool",
    "policy",
)
SHADOW_AT = gauge(
    "policy_shadow_timestamp_seconds",
    "When the shadow policy was simulated last, in seconds since 1970; 0 where there is none, "
    "or this process does not lead.",
)
SHADOW_FAILED = counter(
    "policy_shadow_failed_total",
    "Simulations of the shadow policy that came to nothing, because no such version is stored, "
    "no worker is live, or they took too long.",
)
RULE_TRUE = leaders(
    "policy_rule_true",
    "For how many a rule holds: 1 or 0 where its condition asks nothing of lanes or jobs, be "
    "it true in all pools or in one; else tenants of queues, or how often in the last second "
    "it was true for a job.",
    "rule",
)
RULE_OVERRUNS = counter(
    "policy_rule_overruns_total",
    "Looks at a rule's condition that took over 5 ms; three in a row disable it. At most 200 "
    "rules are told apart.",
    "rule",
)
RULE_ERRORS = counter(
    "policy_rule_errors_total",
    "Looks at a rule's condition that found no value; three disable it.",
    "rule",
)

# --- the loop, and what goes on beside it -----------------------------------------------------

TICKS = counter("scheduler_ticks_total", "Looks at the database.")
LAG = histogram(
    "scheduler_lag_seconds",
    "From the moment that a look was due to the end of its dispatch.",
    _LAG_SECONDS,
)
DISPATCHED = counter("scheduler_dispatched_total", "Jobs put into `work_queue`.")
OVERFLOW = counter(
    "scheduler_overflow_total",
    "Jobs put into `work_queue` beyond its depth, because they go before queued ones or belong "
    "to a reserve: those of quiet tenants beside a flood.",
    "pool",
)
CHORE_FAILURES = counter(
    "scheduler_chore_failures_total",
    "Statements beside the loop that failed and are tried again: sweeps, counts, upkeep.",
    "chore",
)
PROMOTE_BATCH = histogram("promote_batch", "Jobs that fell due together.", _BATCHES)
CRON_MISSED = counter("cron_missed_total", "Fires of schedules that came too late.")
CRON_REFUSED = counter(
    "cron_refused_total",
    "Fires of schedules whose lane was over its backlog limit; the schedule's `missed` says "
    "what becomes of them.",
)

SERIES: tuple[Series, ...] = (
    *(JOBS_FINISHED, ATTEMPTS_ENDED, LEASE_EXPIRATIONS, JOBS_RESCUED, JOBS_RUNNABLE),
    *(QUEUE_DEPTH, OLDEST_READY, BACKLOG_WORK, SCHEDULED_NEXT, QUEUE_LAG, DEAD_JOBS),
    *(TENANT_SHARE, TENANT_ENTITLED, TENANT_LAG, TENANT_RUNNING, TENANT_WAIT),
    *(TENANTS, TENANTS_WAIT, JAIN, LANES_BLOCKED, LANES_OVER_BACKLOG, BACKLOG_AGE),
    *(WORKERS, CONNECTIONS, CONNECTIONS_MAX, XMIN_SECONDS, XMIN_TRANSACTIONS),
    *(TABLE_DEAD, TABLE_BLOAT, TABLE_BYTES, INDEX_BYTES, SNAPSHOT_AT, SNAPSHOT_DURATION),
    *(POLICY_INFO, POOL_OBJECTIVE, POLICY_REFUSED),
    *(RELOAD_SUCCESSFUL, RELOADED_AT, GENERATION),
    *(SHADOW_MOVED, SHADOW_WAIT, SHADOW_AT, SHADOW_FAILED),
    *(RULE_TRUE, RULE_OVERRUNS, RULE_ERRORS, LEADER, LEADER_TRANSITIONS),
    *(TICKS, LAG, DISPATCHED, OVERFLOW, CHORE_FAILURES, PROMOTE_BATCH),
    *(CRON_MISSED, CRON_REFUSED, SERIES_DROPPED, BUILD_INFO),
)
