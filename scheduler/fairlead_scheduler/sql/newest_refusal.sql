-- newest_refusal: the event of the policy document that was refused last; 0: none was.
-- locks: none.
-- index: policy_events_refused
select coalesce((
    select e.id from fairlead.policy_events e where e.version is null order by e.id desc limit 1), 0)
