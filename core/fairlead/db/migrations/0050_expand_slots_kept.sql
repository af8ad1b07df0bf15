-- What the reserve for short jobs withholds from a pool's waiting jobs. A pool whose free slots were all kept
-- looked to the autoscaler as if the job that waits could have one.
alter table fairlead.pool_demand add column slots_kept integer not null default 0
    constraint pool_demand_keeps_some_of_the_useful check (slots_kept between 0 and slots_useful);
comment on column fairlead.pool_demand.slots_kept is
    'Of slots_useful, those that no job uses: fairness.reserve keeps them for short jobs beside long ones.';
