-- What services call beside their statements, and skips rows that another session has locked. The
-- leader's sweeps are one autocommitted call each, bounded, and fenced by the epoch.

-- Takes attempts from dead workers, or from living ones long past the deadline: the jobs are queued
-- again. Answers what it took; an attempt that has ended since it was found, or that is locked, is
-- not in it. No attempts (null): it does nothing.
create function fairlead._steal(my_epoch bigint, ids bigint[], tokens bigint[], errors text[])
returns table (job_id bigint, token bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if ids is null or not fairlead._leads(my_epoch) then
        return;
    end if;
    return query
    select e.* from fairlead._end_attempts(
        ids, tokens, array_fill('lost'::text, array[cardinality(ids)]), errors,
        array_fill(null::interval, array[cardinality(ids)]), true) e
    where e.became not in ('stale', 'locked');
end $$;
