-- Endings that wake the leader.

-- Wakes a leader that waits for an ending, because a limit holds back who would go on. As with the INSERTs that wake
-- a sleeping one, the leader asks for it, by a sequence of its own, only while endings are few. Before the row, and
-- with the condition in the trigger: a receipt of a claim then calls nothing. What it names is as in _wake_scheduler.
create function fairlead._wake_scheduler_at_ending() returns trigger
language plpgsql security definer as $$
begin
    if pg_catalog.pg_sequence_last_value('fairlead.endings_notify') is not null then
        perform fairlead._notify_scheduler('ended');
    end if;
    return new;
end $$;
create trigger receipts_wake_scheduler before insert on fairlead.receipts
    for each row when (new.ended is not null) execute function fairlead._wake_scheduler_at_ending();
