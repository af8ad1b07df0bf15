-- What the autoscaler decided last for each pool and why, for people who have no rights in the cluster.

create table fairlead.pool_decisions (
    epoch    bigint      not null,
    at       timestamptz not null,
    pool     text        collate "C" not null,
    decision jsonb       not null,
    primary key (pool)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.pool_decisions is
    'How many pods the autoscaler wants each pool to have, and why. It writes a row when that changes, and once '
    'a minute while it does not; `fairlead autoscaler explain` shows it.';
comment on column fairlead.pool_decisions.at is 'When it was decided.';
