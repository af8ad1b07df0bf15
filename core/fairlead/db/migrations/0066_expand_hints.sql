-- What may be left out goes without, and what moves jobs is bounded by bytes wherever somebody calls it.

-- Notifies, unless half of the server's queue of notifications is full; answers whether it did. A notification only ends
-- a rest early. Any login of the server can fill the queue, and then a transaction that has notified cannot commit.
create function fairlead._notify(channel text, payload text) returns boolean language sql
return case when pg_notification_queue_usage() < 0.5 then pg_notify(channel, payload) is not null else false end;

-- Takes unclaimed rows back from the queue: the jobs are pending again, in the place they had, and their ids are
-- answered. One whose cancellation was waiting for its claim ends here instead, if it is among those whose bytes are
-- moved at once. The leader asks for the others again.
create function fairlead._recall(my_epoch bigint, ids bigint[]) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    mine bigint[];
    unwanted bigint[];
    free bigint[];
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    select array_agg(s.id), array_agg(s.id) filter (where s.ends) into mine, unwanted
    from (
        select l.id, l.ends, sum(l.bytes) over (rows unbounded preceding) - l.bytes as before
        from (
            select j.id, j.cancel_requested_at is not null as ends,
                   case when j.cancel_requested_at is null then 0
                        else fairlead._stored_bytes(j.payload, j.headers, j.last_error) end as bytes
            from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked) l) s
    where not s.ends or s.before < fairlead._bytes_at_once();
    select array_agg(l.job_id), array_agg(l.job_id) filter (where l.job_id = any (unwanted))
    into free, unwanted
    from (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (mine) and q.worker is null order by q.job_id
        for update skip locked) l;
    if unwanted is not null then
        perform fairlead._end_unstarted(unwanted, 'cancelled');
    end if;
    return query
    delete from fairlead.work_queue q where q.job_id = any (free) returning q.job_id;
end $$;
