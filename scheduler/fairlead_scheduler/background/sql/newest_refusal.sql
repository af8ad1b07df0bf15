-- newest_refusal: the id of the newest event of a refused policy document; 0 if there is none.
-- locks: none.
-- index: policy_events_refused
select coalesce((
    select e.id from fairlead.policy_events e where e.version is null order by e.id desc limit 1), 0)
