-- What functions that applications call depend on in the application's session.

-- A session may begin all its transactions at another level.
create function fairlead._require_read_committed() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'fairlead: this function needs READ COMMITTED, the transaction is %',
            upper(current_setting('transaction_isolation'))
            using errcode = 'FL003',
                  hint = 'Call it in a transaction of its own that is begun as READ COMMITTED.';
    end if;
end $$;
