-- Jobs that end before a worker has them.

-- Ends jobs that no worker holds, whose rows the caller holds. No worker counts them, so the leader receives their
-- queue and kind, in a receipt for each hundred. One that cancelled ten thousand jobs with long names again and again
-- in a transaction left receipts of a gigabyte, which the leader takes a thousand at a time.
create function fairlead._end_unstarted(ids bigint[], outcome text, errors text[] default null)
returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    insert into fairlead.receipts (queues, kinds, outcomes)
    select array_agg(e.queue), array_agg(e.kind), array_agg(_end_unstarted.outcome)
    from (
        select j.queue, j.kind, (row_number() over () - 1) / 100 as hundred
        from fairlead.jobs j where j.id = any (ids)) e
    group by e.hundred;
    perform fairlead._end_jobs(ids, array_fill(outcome, array[cardinality(ids)]), errors);
    perform fairlead._tell_waiting(ids);
end $$;
