-- Endings that wake the leader.

-- Wakes a leader that waits for an ending, because a limit holds back who would go on. As with the
-- INSERTs that wake a sleeping one, a notifying transaction holds an instance-wide lock at its commit,
-- so the leader asks for it, with another advisory lock, only while endings are few. Before the row, and
-- with the condition in the trigger: a receipt of a claim then calls nothing. The lock's number is its own:
-- one below it is that of installers and of sessions that make partitions, two below that of a sleeping leader.
create function fairlead._wake_scheduler_at_ending() returns trigger language plpgsql as $$
begin
    if not (case when pg_try_advisory_lock_shared(7165163640219131512)
                 then pg_advisory_unlock_shared(7165163640219131512) else false end) then
        perform pg_notify('fairlead_scheduler', 'ended');
    end if;
    return new;
end $$;
create trigger receipts_wake_scheduler before insert on fairlead.receipts
    for each row when (new.ended is not null) execute function fairlead._wake_scheduler_at_ending();
