-- What every migration stands on; run before each of them, and harmless when it is there already.
create schema if not exists fairlead;
create table if not exists fairlead.schema_versions (
    version         integer     primary key,
    name            text        not null,
    compatible_from integer     not null,
    applied_at      timestamptz not null default now()
);
