-- Running jobs that agreed to it may be asked to stop so that a tenant without any can run.

create table fairlead.evictions (
    job_id       bigint not null constraint evictions_pkey primary key,
    token        bigint not null,
    requested_at timestamptz not null default clock_timestamp(),
    for_queue    text collate "C" not null,
    for_tenant   text collate "C" not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
create index evictions_requested on fairlead.evictions (requested_at);
comment on table fairlead.evictions is
    'Attempts that the leader has asked to stop, the last one of each job: kept for an hour, so that people '
    'can see it and that no job is asked again soon.';
comment on column fairlead.evictions.token is
    'The attempt that was asked; the request is void once the job has another token or none.';
comment on column fairlead.evictions.for_tenant is 'The tenant that waited, of the queue for_queue.';

alter table fairlead.worker_leases add column evictable_kinds text[];
comment on column fairlead.worker_leases.evictable_kinds is
    'Kinds whose handlers agreed to be asked to stop and run again later. At most 1,000 are listed; null: none.';

alter table fairlead.jobs add column checkpoint text;
comment on column fairlead.jobs.checkpoint is
    'What the last run noted as its progress, if it was released or lost and had not failed.';

alter table fairlead.receipts add column evicted bigint[];
comment on column fairlead.receipts.evicted is
    'Those of the ended that were asked to stop and are pending again, each with its place in its lane.';
