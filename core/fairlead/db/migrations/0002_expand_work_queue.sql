-- The shallow queue that workers claim from, the leases on it, and who leads.

create sequence fairlead.tokens as bigint cache 1;
comment on sequence fairlead.tokens is 'Fencing tokens: every claim draws a new one.';

create table fairlead.worker_leases (
    id          bigint      generated always as identity,
    started_at  timestamptz not null default now(),
    lease_until timestamptz not null,
    dead_at     timestamptz,
    slots       integer     not null constraint worker_leases_slots_is_positive check (slots > 0),
    name        text        not null,
    pool        text        collate "C" not null,
    host        text        not null default '',
    pod_uid     text,
    pod_name    text,
    version     text        not null default ''
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
create index worker_leases_live on fairlead.worker_leases (name) where dead_at is null;
alter table fairlead.worker_leases add primary key (id);  -- last, as in jobs
comment on table fairlead.worker_leases is
    'One row per worker process: its lease, renewed every few seconds. Read it as the view workers.';

create table fairlead.work_queue (
    job_id      bigint      not null,
    vtag        bigint      not null,
    estimate_us bigint      not null,
    epoch       bigint      not null,
    runnable_at timestamptz not null,
    worker      bigint,
    token       bigint,
    claimed_at  timestamptz,
    deadline    timestamptz,
    timeout     interval    not null,
    band        smallint    not null,
    alone       boolean     not null default false,
    pool        text        collate "C" not null,
    queue       text        collate "C" not null,
    tenant      text        collate "C" not null
) with (
    -- Half of each page is left for the versions that claims make: no index holds a column that a
    -- claim changes, so a claim is a heap-only update and writes no index entry.
    fillfactor = 45,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 50000,
    autovacuum_vacuum_cost_delay = 0
);
-- Claimed rows stay in it below the floor, where no claim looks. The condition always holds: it keeps
-- this index from statements that look for jobs by id. After an ANALYZE that met a few live rows
-- among millions of dead ones the planner takes reading either index whole to be the same.
create index work_queue_claim_order on fairlead.work_queue (pool, band, vtag, job_id)
    where band >= 0;
alter table fairlead.work_queue add primary key (job_id);  -- last, as in jobs
comment on table fairlead.work_queue is
    'Dispatched jobs: unclaimed while worker is null, leased with a fencing token after that.';
comment on column fairlead.work_queue.vtag is 'The order tag: weighted slot-microseconds.';
comment on column fairlead.work_queue.runnable_at is
    'The later of falling due and being seen by the leader; waits count from here.';
comment on column fairlead.work_queue.alone is
    'Runs in a process of its own, because a process that ran it has died.';

create table fairlead.claim_floors (
    pool text     collate "C" not null,
    band smallint not null,
    vtag bigint   not null,
    primary key (pool, band)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.claim_floors is
    'No unclaimed row is below the floor, so that a claim never walks over dead index entries.';
insert into fairlead.claim_floors (pool, band, vtag) values ('default', 0, 0);

create table fairlead.leaders (
    role        text        collate "C" primary key,
    holder      text        not null default '',
    epoch       bigint      not null default 0,
    lease_until timestamptz not null default '-infinity',
    taken_at    timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.leaders is 'Who leads, under which epoch, and until when.';
insert into fairlead.leaders (role) values ('scheduler'), ('autoscaler');

-- What claims and endings leave behind for the leader, one narrow row per batch. It deletes what
-- it has read. Unlogged: after a crash of the server the leader reads work_queue anew anyway.
create unlogged table fairlead.receipts (
    id       bigint      generated always as identity primary key,
    at       timestamptz not null default now(),
    worker   bigint,
    claimed  bigint[],
    ended    bigint[],
    run_us   bigint[],
    returned bigint[],
    queues   text[],
    kinds    text[],
    outcomes text[]
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table fairlead.receipts is
    'Receipts of claims, endings and hand-backs, from which the leader learns real run times.';

create table fairlead.paused (
    queue  text        collate "C" not null,
    tenant text        collate "C",
    since  timestamptz not null default now(),
    constraint paused_once unique nulls not distinct (queue, tenant)
);
comment on table fairlead.paused is 'Queues, and tenants of queues, that are not dispatched.';

create table fairlead.job_progress (
    job_id   bigint      primary key,
    token    bigint      not null,
    fraction real        not null
        constraint job_progress_fraction_is_between_0_and_1 check (fraction between 0 and 1),
    note     text        not null default '',
    at       timestamptz not null default now()
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table fairlead.job_progress is 'How far a running job says that it is.';
