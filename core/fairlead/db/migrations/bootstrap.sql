-- What every migration stands on; run before each of them, and harmless when it is there already.
-- The schema is looked for first: IF NOT EXISTS asks for the right to create one all the same. Another
-- installer may make either at this moment.
do $$
begin
    if to_regnamespace('fairlead') is null then
        begin
            create schema fairlead;
        exception when duplicate_schema or unique_violation then
            null;
        end;
    end if;
    begin
        create table if not exists fairlead.schema_versions (
            version         integer     primary key,
            name            text        not null,
            compatible_from integer     not null,
            applied_at      timestamptz not null default now()
        );
    exception when duplicate_table or unique_violation then
        null;
    end;
end $$;
lock table fairlead.schema_versions in share row exclusive mode;
comment on table fairlead.schema_versions is
    'Which migrations ran; the newest row says which code can run on this schema.';
