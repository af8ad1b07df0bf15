-- floor_schema: the tables of the floors, shaped like the hot path and nothing more.
-- locks: none, the database is empty.
-- index: makes the lane index, the claim order and the deadlines.
create sequence floor_seq;
create sequence floor_token;
create table floor_jobs (
    id bigint generated always as identity primary key,
    seq bigint not null default nextval('floor_seq'),
    queue text collate "C" not null default 'default',
    tenant text collate "C" not null default '',
    rank smallint not null default 0,
    kind text collate "C" not null default 'bench',
    payload jsonb not null,
    run_at timestamptz,
    created_at timestamptz not null default now()
);
create index floor_lane on floor_jobs (queue, tenant, rank, seq) where run_at is null;
create table floor_work_queue (
    job_id bigint primary key,
    vtag bigint not null,
    worker bigint,
    token bigint,
    claimed_at timestamptz,
    deadline timestamptz
);
create index floor_claim_order on floor_work_queue (vtag, job_id) where worker is null;
create index floor_deadline on floor_work_queue (deadline) where worker is not null;
create table floor_history (
    id bigint not null,
    token bigint not null,
    outcome text collate "C" not null,
    queue text collate "C" not null,
    tenant text collate "C" not null,
    kind text collate "C" not null,
    payload jsonb not null,
    claimed_at timestamptz not null,
    finished_at timestamptz not null,
    primary key (id, token)
);
create table floor_bare (
    id bigint generated always as identity primary key,
    payload jsonb not null
);
create function floor_wake() returns trigger language plpgsql as $$
begin
    perform pg_notify(tg_argv[0], '');
    return null;
end $$;
