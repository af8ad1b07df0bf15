-- A handler that finishes its job early keeps its slot, and so does the work_queue row: limits count it and
-- the tenant is charged for it until the handler is over.

alter table fairlead.work_queue add column completed boolean not null default false;
comment on column fairlead.work_queue.completed is
    'Its handler has finished the job, which is in the history, and has the slot still.';

alter table fairlead.worker_leases add column releases_slots boolean not null default false;
comment on column fairlead.worker_leases.releases_slots is
    'Whether it deletes the work_queue row of a job that complete has finished, once the handler is over; '
    'false: complete deletes it, as a worker in another language expects.';

alter table fairlead.receipts add column passed_over bigint[];
comment on column fairlead.receipts.passed_over is
    'Unclaimed rows that a claim passed over, because the worker has no room for more of their kinds.';
