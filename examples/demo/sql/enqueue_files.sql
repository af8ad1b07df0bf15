-- enqueue_files: one job per source file, and the application's record of it, together.
-- locks: the new rows.
-- index: none
with added as (
    insert into fairlead.jobs (queue, tenant, kind, payload)
    select 'sources', f.package, 'measure', jsonb_build_object('path', f.path)
    from unnest(%(packages)s::text[], %(paths)s::text[]) as f (package, path)
    returning id
)
insert into demo.enqueued (id, class) select a.id, 'measure' from added a
