-- say_actor: say for the rest of the transaction who acts; the audit log stores it.
-- locks: none
-- index: none
select set_config('fairlead.actor', %s, true)
