-- Why a job does not run: what the tables know is answered at once, what only the leader knows is asked.

create unlogged table fairlead.explain_requests (
    id          bigint      generated always as identity primary key,
    asked_at    timestamptz not null default clock_timestamp(),
    answered_at timestamptz,
    job_id      bigint      not null,
    queue       text        collate "C" not null,
    tenant      text        collate "C" not null,
    ahead       integer     not null,
    answer      jsonb
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
create index explain_requests_job on fairlead.explain_requests (job_id, id);
create index explain_requests_open on fairlead.explain_requests (id) where answered_at is null;
comment on table fairlead.explain_requests is
    'Questions to the leader why a job does not run, and its answers; a minute old, they are forgotten.';
comment on column fairlead.explain_requests.ahead is
    'Jobs of the lane before this one, dispatched ones included; 10,000 is that or more.';
