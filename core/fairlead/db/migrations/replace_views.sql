-- Replaces the views that differ from those of views.sql, which migrate puts in here. Another one is left
-- alone: to replace it would wait for every reader of it, and every later reader would wait behind that. To
-- compare two views, both have to be made.
--
-- A newer program of the same schema version may have appended columns. Removing them would break that
-- program and applications that use them; after a rollback this program runs on them.
do $run$
declare
    wanted record;
    is_as_wanted boolean;
begin
    for wanted in select v.name, v.definition from (values
{views}
    ) v (name, definition)
    loop
        if to_regclass('fairlead.' || wanted.name) is not null then
            execute replace(wanted.definition, 'create or replace view fairlead.' || wanted.name,
                            'create view fairlead._wanted');
            select pg_get_viewdef(w.oid) = pg_get_viewdef(v.oid) and w.reloptions is not distinct from v.reloptions
            into is_as_wanted
            from pg_class w, pg_class v
            where w.oid = to_regclass('fairlead._wanted') and v.oid = to_regclass('fairlead.' || wanted.name);
            drop view fairlead._wanted;
            continue when is_as_wanted;
        end if;
        execute wanted.definition;
    end loop;
{comments}
exception when invalid_table_definition then
    raise warning 'the views are newer than this program''s, fit it, and were left as they are';
end $run$;
