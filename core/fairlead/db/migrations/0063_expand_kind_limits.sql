-- How many attempts of a kind may run at once in the fleet, as its workers say when they register: a table of few
-- rows, which is empty where no handler has such a limit, so that the leader may read it once a second.

create table fairlead.worker_kind_limits (
    worker  bigint references fairlead.worker_leases on delete cascade,
    pool    text collate "C" not null,
    kind    text collate "C" not null,
    at_most integer not null,
    known   boolean not null default false,
    primary key (worker, kind),
    constraint worker_kind_limits_are_positive check (at_most >= 1)
);
create index worker_kind_limits_smallest on fairlead.worker_kind_limits (pool, kind, at_most, worker desc);
create index worker_kind_limits_unknown on fairlead.worker_kind_limits (pool, kind) where not known;
comment on table fairlead.worker_kind_limits is
    'How many attempts of a kind a worker says may run at once in the fleet. Of the live workers of a pool the smallest '
    'number holds; where none of them has the kind, the last that was said.';
comment on column fairlead.worker_kind_limits.known is
    'Whether the leader holds to it, so that no more than that wait to be claimed: the worker claims nothing before.';

-- Whether the leader does not yet hold to what a worker has said of kinds: more than that may have been dispatched.
create function fairlead.awaits_limits(worker bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    return exists (
        select from fairlead.worker_kind_limits l
        where l.worker = awaits_limits.worker and not l.known);
end $$;
