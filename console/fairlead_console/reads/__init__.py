"""What the console asks the database: sessions that can write nothing, and its own statements.

In: settings. Out: rows and values. Most of what it reads is `fairlead.inspection`'s, which the
command line prints. It may import that, `fairlead.db` and the settings.

* `sessions` keeps a few sessions that act as `fairlead_viewer`, read only, with a timeout.
* `moments` are the console's own statements: counts of states, who has a pool's slots.
* `records` are those of what was recorded: failures, schedules, policies, the audit log.
* `memo` answers many browsers with one read; `examiner` has the doctor look now and then.
* `acts` does what operators ask for, by a login of its own, and `policy_store` stores a policy
  by it: they are all that can write.
* `simulator` runs the command that predicts what a policy would do, as a process that
  `bounded_command` bounds.
* `pulse` says that something has changed, and how fast jobs come and end.

Begin with `sessions`.
"""
