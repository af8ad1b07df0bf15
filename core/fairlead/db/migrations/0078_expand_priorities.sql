-- Operators change the priority of jobs that wait.

-- A stream of the leader's, queue, tenant and rank, has a cursor on places and never reads behind it: it is told.
alter table fairlead.receipts add column moved jsonb;
comment on column fairlead.receipts.moved is
    'Jobs that wait and were given another priority: queue, tenant, the rank they had, the one they have, and their ids.';

create function fairlead._check_priority(priority integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if (priority between -100 and 100) is not true then
        raise exception 'fairlead: priority is %: give -100 to 100', coalesce(priority::text, 'null')
            using errcode = 'invalid_parameter_value';
    end if;
end $$;

-- Gives jobs, whose rows the caller holds, another priority, but for those that a worker has, and answers which it
-- changed. One that is due draws a new place, as when it is promoted, so that it appears behind the cursor of no
-- stream; those of a call stay in their order. The leader takes them out of the heads where they were, asks where they
-- are, and recalls those that are queued too early: work_queue is only read here, in a statement of its own, whose
-- snapshot has what a dispatch has put there that held the job.
create function fairlead._move_jobs(ids bigint[], priority integer) returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    changed bigint[];
begin
    with placed as materialized (
        select o.id, o.rank, case when o.run_at is null then nextval('fairlead.places') else o.seq end as place
        from (
            select j.id, j.rank, j.run_at, j.seq from fairlead.jobs j
            where j.id = any (ids) and j.priority <> _move_jobs.priority
              and j.id <> all (array(
                  select q.job_id from fairlead.work_queue q where q.job_id = any (ids) and q.worker is not null))
            order by j.seq, j.id offset 0) o
    ), moved as (
        update fairlead.jobs j set priority = _move_jobs.priority, seq = p.place
        from placed p where j.id = p.id and j.id = any (ids)
        returning j.id, j.queue, j.tenant, p.rank, j.run_at
    ), told as (
        insert into fairlead.receipts (moved)
        select jsonb_agg(jsonb_build_array(s.queue, s.tenant, s.rank, - _move_jobs.priority, s.ids))
        from (
            select n.hundred, n.queue, n.tenant, n.rank, jsonb_agg(n.id order by n.id) as ids
            from (
                select m.*, (row_number() over (order by m.queue, m.tenant, m.rank, m.id) - 1) / 100 as hundred
                from moved m where m.run_at is null) n
            group by n.hundred, n.queue, n.tenant, n.rank) s
        group by s.hundred
    )
    select coalesce(array_agg(m.id), '{}') into changed from moved m;
    perform fairlead._notify_scheduler('') where cardinality(changed) > 0;
    return changed;
end $$;

-- Gives a job that waits another priority. Answers changed, unchanged (it has that priority), running (it keeps the
-- one it was started with), finished, or unknown. A repeat is harmless.
create function fairlead.set_priority(job_id bigint, priority integer) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    former integer;
begin
    perform fairlead._require_read_committed();
    perform fairlead._check_priority(set_priority.priority);
    select j.priority into former from fairlead.jobs j where j.id = set_priority.job_id for update;
    if not found then
        perform from fairlead.job_history h where h.id = set_priority.job_id;
        return case when found then 'finished' else 'unknown' end;
    end if;
    if former = set_priority.priority then
        return 'unchanged';
    end if;
    if fairlead._move_jobs(array[set_priority.job_id], set_priority.priority) = '{}' then
        return 'running';
    end if;
    perform fairlead._record_audit(
        'set_priority', job_id => set_priority.job_id,
        details => jsonb_build_object('priority', set_priority.priority, 'former', former));
    return 'changed';
end $$;

-- Gives jobs that wait of a queue, a tenant and a kind, of which null stands for any, another priority, in the order of
-- their ids: looks at 10,000 behind after_id at most, and changes jobs_max at most. Those that another transaction has
-- locked are left and counted, so that no call waits. Answers how many it changed, how many run, how many were locked,
-- and the id to go on behind, null at the end. Planned as _cancel_jobs is.
create function fairlead._set_priorities(
    priority integer, queue text, tenant text, kind text, after_id bigint, jobs_max integer, out changed integer,
    out running integer, out locked integer, out reached_id bigint
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set enable_bitmapscan = off set enable_indexscan = on as $$
declare
    looked_max constant integer := 10000;
    wanted constant integer := least(greatest(_set_priorities.jobs_max, 0), looked_max);
    ids bigint[];
begin
    perform fairlead._require_read_committed();
    perform fairlead._check_priority(_set_priorities.priority);
    if coalesce(_set_priorities.queue, _set_priorities.tenant, _set_priorities.kind) is null then
        raise exception 'fairlead: name a queue, a tenant or a kind whose jobs to change'
            using errcode = 'null_value_not_allowed';
    end if;
    with looked as materialized (
        select j.id, j.queue, j.tenant, j.kind, j.priority
        from fairlead.jobs j
        where j.id > coalesce(_set_priorities.after_id, 0) order by j.id limit looked_max
    ), alike as materialized (
        select l.id, exists (
                   select from fairlead.work_queue q
                   where q.job_id = l.id and q.worker is not null offset 0) as runs
        from looked l
        where l.priority <> _set_priorities.priority
          and (_set_priorities.queue is null or l.queue = _set_priorities.queue)
          and (_set_priorities.tenant is null or l.tenant = _set_priorities.tenant)
          and (_set_priorities.kind is null or l.kind = _set_priorities.kind)
    ), picked as materialized (
        select a.id from alike a where not a.runs order by a.id limit wanted
    )
    select p.ids,
           case when p.many >= wanted then p.last
                when (select count(*) from looked) = looked_max then (select max(l.id) from looked l) end,
           (select count(*) from alike a where a.runs and (p.many < wanted or a.id < p.last))
    into ids, reached_id, running
    from (select coalesce(array_agg(k.id), '{}') as ids, count(*) as many, max(k.id) as last from picked k) p;

    locked := cardinality(ids);
    ids := array(select j.id from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked);
    locked := locked - cardinality(ids);
    changed := cardinality(fairlead._move_jobs(ids, _set_priorities.priority));
    -- The others were claimed, or changed by another call, since they were looked at.
    perform fairlead._record_audit(
        'set_priorities', queue => coalesce(_set_priorities.queue, ''), tenant => _set_priorities.tenant,
        details => jsonb_strip_nulls(jsonb_build_object(
            'kind', _set_priorities.kind, 'priority', _set_priorities.priority, 'jobs', changed)))
    where changed > 0;
end $$;

-- Changes such jobs in one transaction, whose locks last until it ends: so 10,000 jobs at most. Until it answers 0
-- there may be more.
create function fairlead.set_priorities(
    priority integer, queue text default null, tenant text default null, kind text default null,
    jobs_max integer default 1000, out changed bigint, out running bigint, out locked bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    step record;
    id bigint := 0;
begin
    if not coalesce(jobs_max between 1 and 10000, false) then
        raise exception 'fairlead: jobs_max is 1 to 10,000'
            using errcode = 'invalid_parameter_value',
                  hint = 'Call it again for the others, each time in a transaction of its own.';
    end if;
    changed := 0;
    running := 0;
    locked := 0;
    while changed < jobs_max and id is not null loop
        step := fairlead._set_priorities(
            set_priorities.priority, set_priorities.queue, set_priorities.tenant, set_priorities.kind, id,
            (jobs_max - changed)::integer);
        changed := changed + step.changed;
        running := running + step.running;
        locked := locked + step.locked;
        id := step.reached_id;
    end loop;
end $$;
