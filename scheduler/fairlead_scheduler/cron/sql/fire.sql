-- fire: insert the jobs of a batch of schedules' fires, each fire once whichever leader fires it, as jobs of the
--       logins that made the schedules, and record how far each has been considered. Passes over a schedule that
--       has changed since it was read, or that another session has locked; returns the places of the others.
-- locks: see fairlead._fire: the schedules (skip locked), their fires.
-- index: see fairlead._fire.
select f from fairlead._fire(
    %(epoch)s, %(tenants)s::text[], %(names)s::text[], %(crons)s::text[], %(timezones)s::text[],
    %(considered_us)s::bigint[], %(problems)s::text[], %(places)s::bigint[], %(fires_us)s::bigint[]) f
