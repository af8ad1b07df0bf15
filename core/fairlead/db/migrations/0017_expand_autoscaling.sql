-- What the autoscaler goes by: what the scheduler says that each pool needs, and which pods are to take
-- no more jobs. And what a worker is to have, beside what it has.

create table fairlead.pool_demand (
    epoch                  bigint           not null,
    at                     timestamptz      not null,
    became_runnable_total  bigint           not null,
    work_slot_seconds      double precision not null,
    slots_useful           integer          not null,
    slots_allowed          integer          not null,
    service_mean           double precision not null,
    service_variance       double precision not null,
    oldest_runnable_at     timestamptz,
    scheduled_slot_seconds double precision[] not null
        constraint pool_demand_scheduled_slot_seconds_has_4_places
        check (cardinality(scheduled_slot_seconds) = 4),
    pool                   text             collate "C" not null,
    constraint pool_demand_is_never_negative check (
        became_runnable_total >= 0 and work_slot_seconds >= 0 and slots_useful >= 0
        and slots_allowed >= slots_useful and service_mean >= 0 and service_variance >= 0),
    primary key (pool)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.pool_demand is
    'What each pool that has autoscale in the policy needs, as if it had its maximum of slots. The '
    'scheduler''s leader writes it at most once a second; an old row says nothing.';
comment on column fairlead.pool_demand.epoch is
    'The leader''s: under another one became_runnable_total counts from elsewhere.';
comment on column fairlead.pool_demand.at is 'When the leader counted, not when it wrote.';
comment on column fairlead.pool_demand.became_runnable_total is
    'Jobs that the policy came to allow to run since the epoch began.';
comment on column fairlead.pool_demand.work_slot_seconds is
    'Of jobs that may run now and have not started: how long they take, by estimate.';
comment on column fairlead.pool_demand.slots_useful is
    'Slots that what runs and what may run now would take at once.';
comment on column fairlead.pool_demand.slots_allowed is
    'Slots that the policy lets the pool''s lanes use together, however many jobs come to wait in them: at '
    'most those of its maximum, at least slots_useful.';
comment on column fairlead.pool_demand.service_mean is 'Seconds that a job takes; while none has ended, what the policy''s estimator begins with.';
comment on column fairlead.pool_demand.service_variance is 'Seconds squared, between jobs.';
comment on column fairlead.pool_demand.oldest_runnable_at is
    'Since when the oldest job that may run waits; null: there is none.';
comment on column fairlead.pool_demand.scheduled_slot_seconds is
    'Work that falls due within the next 5, 20, 60 and 180 seconds.';

-- Keyed by the pod and not by the worker, so that a container that restarts in the pod has its mark.
create table fairlead.pod_drains (
    drain_until timestamptz not null,
    drained_at  timestamptz,
    epoch       bigint      not null,
    pool        text        collate "C" not null,
    pod_uid     text        not null
        constraint pod_drains_pod_uid_is_1_to_128_bytes check (octet_length(pod_uid) between 1 and 128),
    primary key (pod_uid)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.pod_drains is
    'Pods that take no more jobs until drain_until, by the database''s clock. The autoscaler writes a row '
    'and renews it; the pod''s worker writes drained_at once it holds nothing. Past drain_until a row says nothing.';
comment on column fairlead.pod_drains.drained_at is
    'Since when the pod holds nothing under this mark; null again whenever a mark begins anew.';
comment on column fairlead.pod_drains.epoch is 'Of the autoscaler''s leader that wrote the mark last.';

-- A mark that begins anew, because the one before had lapsed, is not drained yet, whichever process wrote it.
create function fairlead._mark_anew() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    new.drained_at := null;
    return new;
end $$;
create trigger pod_drains_mark_anew before update of drain_until on fairlead.pod_drains
    for each row when (old.drain_until <= now() and new.drain_until > now())
    execute function fairlead._mark_anew();

alter table fairlead.worker_leases
    add column slots_full integer constraint worker_leases_slots_full_is_positive check (slots_full > 0),
    add column draining boolean not null default false;
comment on column fairlead.worker_leases.slots_full is
    'Slots that it has once all of its processes are up; slots are those of the ones that are. Null: it '
    'does not say, as a program from before this column.';
comment on column fairlead.worker_leases.draining is
    'Its claims are refused. Its renewal sets this when its pod is marked, and takes it back before it '
    'claims again.';

alter table fairlead.install_options
    add column policy_source text collate "C" not null default 'database'
        constraint install_options_policy_source_is_database_or_configmap
        check (policy_source in ('database', 'configmap')),
    add column policy_place text not null default ''
        constraint install_options_policy_place_is_at_most_512_bytes
        check (octet_length(policy_place) <= 512);
comment on column fairlead.install_options.policy_source is
    'Where the policy is edited: database, with fairlead policy apply; configmap, in the cluster, from where '
    'the autoscaler stores it.';
comment on column fairlead.install_options.policy_place is
    'What to edit, for people: the ConfigMap and its namespace; empty for database.';
