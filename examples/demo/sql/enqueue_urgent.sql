-- enqueue_urgent: a burst of urgent jobs in a queue of their own, and reminders for a little later.
-- locks: the new rows.
-- index: none
with urgent as (
    insert into fairlead.jobs (queue, tenant, kind, priority)
    select 'support', 'caller-' || n, 'urgent', 100
    from generate_series(1, %(urgent)s) n returning id
), reminders as (
    insert into fairlead.jobs (queue, tenant, kind, run_at)
    select 'support', 'caller-' || n, 'remind', now() + n * interval '200 milliseconds'
    from generate_series(1, %(reminders)s) n returning id
)
insert into demo.enqueued (id, class)
select u.id, 'urgent' from urgent u union all select r.id, 'remind' from reminders r
