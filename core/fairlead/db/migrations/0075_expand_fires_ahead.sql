-- What cron schedules will bring a pool. A fire inserts its job when it is due, so that nothing showed before then that
-- work comes, and a pool at zero began each night with the start of its pods.
alter table fairlead.pool_demand add column fires jsonb not null default '[]'
    constraint pool_demand_fires_is_an_array check (jsonb_typeof(fires) = 'array');
comment on column fairlead.pool_demand.fires is
    'What schedules will fire within the next 600 s, the soonest first: for each five seconds in which some do, when these '
    'begin in seconds since 1970, how many jobs that is, and how long they take, by estimate.';
