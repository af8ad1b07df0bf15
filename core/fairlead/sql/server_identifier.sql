-- server_identifier: the number that initdb gave this server; a standby has its primary's.
-- locks: none
-- index: none; a function reads it from the control file.
select system_identifier::text from pg_catalog.pg_control_system()
