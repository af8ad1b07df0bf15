-- One row per ending, partitioned by outcome class (each has its own retention), then by day.

create table fairlead.job_history (
    id             bigint      not null,
    token          bigint,
    worker         bigint,
    created_at     timestamptz not null,
    due_at         timestamptz,
    runnable_at    timestamptz,
    claimed_at     timestamptz,
    finished_at    timestamptz not null,
    retry_of       bigint,
    retried_as     bigint,
    policy_version bigint,
    attempt        integer     not null,
    max_attempts   integer,
    crashes        integer     not null,
    losses         integer     not null,
    priority       smallint    not null,
    outcome        text        collate "C" not null,
    queue          text        collate "C" not null,
    tenant         text        collate "C" not null,
    kind           text        collate "C" not null,
    payload        jsonb,
    timeout        interval,
    cost_hint      interval,
    dedup_key      text        collate "C",
    headers        jsonb,
    result         jsonb,
    error          text
) partition by list (outcome);
create index job_history_id on fairlead.job_history (id);

create table fairlead.job_history_succeeded partition of fairlead.job_history
    for values in ('succeeded') partition by range (finished_at);
create table fairlead.job_history_unsuccessful partition of fairlead.job_history
    for values in ('failed', 'cancelled', 'expired') partition by range (finished_at);
-- What redrive walks. What was repeated leaves it.
create index job_history_redrive on fairlead.job_history_unsuccessful (queue, finished_at, id)
    where outcome = 'failed' and retried_as is null;
comment on table fairlead.job_history is
    'One row per ending of a job, with its fencing token; what retry and redrive read.';
comment on column fairlead.job_history.retried_as is
    'The newest job that repeats it. It stands here and not with that job, whose own ending may be '
    'forgotten sooner than this one.';
comment on column fairlead.job_history.token is 'Null when the job ended without being claimed.';

create table fairlead.attempt_errors (
    job_id   bigint      not null,
    token    bigint,
    at       timestamptz not null default clock_timestamp(),
    attempt  integer     not null,
    ended_as text        collate "C" not null
        constraint attempt_errors_ended_as_is_known
        check (ended_as in ('failed', 'crashed', 'lost', 'released')),
    error    text        not null default ''
);
create index attempt_errors_job on fairlead.attempt_errors (job_id, at);
create index attempt_errors_age on fairlead.attempt_errors (at);
comment on table fairlead.attempt_errors is 'Attempts that ended without ending their job.';
