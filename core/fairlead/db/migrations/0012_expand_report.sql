-- How the slots of each pool were shared of late: one row for a pool, which its leader writes.

create unlogged table fairlead.fairness_reports (
    pool   text        collate "C" primary key,
    epoch  bigint      not null,
    since  timestamptz not null,
    at     timestamptz not null,
    report jsonb       not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200,
        toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 500);
comment on column fairlead.fairness_reports.epoch is 'The term of the leader that wrote it.';
comment on column fairlead.fairness_reports.report is
    'The sums, Jain''s index, the queues, at most 1,000 tenants, and the rest together as other.';
