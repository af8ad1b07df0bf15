-- What workers say of the kinds that they have handlers for: not a column of worker_leases, whose rows each renewal
-- writes anew.

create table fairlead.worker_kinds (
    worker       bigint primary key references fairlead.worker_leases on delete cascade,
    kinds        text[] collate "C" not null,
    max_attempts integer[] not null,
    constraint worker_kinds_are_at_most_10000 check (cardinality(kinds) <= 10000),
    constraint worker_kinds_are_in_as_many_places check (cardinality(kinds) = cardinality(max_attempts))
);
comment on table fairlead.worker_kinds is
    'The kinds for which a worker has handlers, and how many attempts a job of each has that does not say. One that '
    'has no row here may have any.';
