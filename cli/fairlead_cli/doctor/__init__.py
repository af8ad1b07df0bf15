"""What is wrong with the running fleet (`diagnose`), or with how it is set up (`setup`).

`reader` asks the database, read only and with a timeout for each statement. It returns `Facts`
and lists what the login may not see. The rest is pure: `Facts` in, findings out.

* The fleet: `diagnose` collects the findings of `fleet`, `limits`, `server` and `storage`. A
  `Finding` says what is wrong, what it means, and the steps that fix it.
* The setup: `setup` and `settings` return a `SetupCheck` for everything that was checked.
* It may import settings of every room, `fairlead.db` and `output.formats`; no command.

Begin with `diagnose`, then `fleet`.
"""
