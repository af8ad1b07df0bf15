-- act_as: say for the rest of the transaction who acts, and why: the audit log stores both.
-- locks: none
-- index: none
select set_config('fairlead.actor', %(actor)s, true), set_config('fairlead.reason', %(reason)s, true)
