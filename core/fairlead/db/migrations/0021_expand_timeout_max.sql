-- How long an attempt may run in all, so that extending its deadline cannot keep a slot for ever.

alter table fairlead.work_queue add column timeout_max interval;
comment on column fairlead.work_queue.timeout_max is
    'How long after its claim a handler may extend the attempt''s deadline to; null: a scheduler of an '
    'earlier version dispatched it, and nothing bounds that.';
