-- Which kinds of a tenant run alone because several of their jobs have ended the process that ran them.

alter table fairlead.worker_leases add column crash_breakers jsonb;
comment on column fairlead.worker_leases.crash_breakers is
    'Pairs of kind and tenant whose circuit breaker is open on it: their jobs run one at a time there. At most '
    '100 are listed; null: none.';
