-- What a worker holds beside its slots, so that `slots` are those that it has.

alter table fairlead.worker_leases
    add column beside integer not null default 0
        constraint worker_leases_beside_is_never_negative check (beside >= 0);
comment on column fairlead.worker_leases.beside is
    'Jobs that it holds without a slot, because they wait for a process in which each runs alone: the '
    'scheduler finds room for so many more.';
