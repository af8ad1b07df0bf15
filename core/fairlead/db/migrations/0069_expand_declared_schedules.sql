-- Schedules that an application declares in its code, known as its own.

alter table fairlead.schedules add column declared_by text collate "C";
alter table fairlead.schedules alter column declared_by set statistics 0;
create index schedules_declared on fairlead.schedules (declared_by, tenant, name) where declared_by is not null;
