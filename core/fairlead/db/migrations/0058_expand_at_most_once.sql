-- Kinds whose jobs run at most once: what ended an attempt without an outcome ends its job too, which _end_attempts
-- does as of 0065; announce_kinds says which as of 0068.

alter table fairlead.worker_kinds
    add column at_most_once boolean[],
    add constraint worker_kinds_are_in_as_many_marks check (cardinality(kinds) = cardinality(at_most_once));
comment on column fairlead.worker_kinds.at_most_once is
    'Of which kinds no job begins again that may have begun on this worker; null: of none.';
