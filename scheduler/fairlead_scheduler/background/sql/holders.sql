-- holders: how many transactions ago the oldest snapshot began that keeps dead rows of this database from
--          being removed, by kind of holder, and the id of the next transaction. At least one row.
--          Autovacuum, which has no user, does not count, nor does what a slot keeps of the catalogs.
-- locks: none.
-- index: none: the server's memory, which is read whole.
select n.next_id, h.holder, max(h.transactions)::bigint as transactions
from (select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next_id) n
left join (
    select 'transaction' as holder, greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions
    from pg_stat_activity a
    where a.datid = (select d.oid from pg_database d where d.datname = current_database())
      and a.pid <> pg_backend_pid() and a.usesysid is not null
    union all
    select 'prepared', age(p.transaction) from pg_prepared_xacts p
    where p.database = current_database()
    union all
    select 'replication_slot', age(s.xmin) from pg_replication_slots s
    union all
    select 'standby', age(r.backend_xmin) from pg_stat_replication r
) h on h.transactions is not null
group by n.next_id, h.holder
