"""What is wrong with the running fleet (`diagnose`), or with how it is set up (`setup`).

`reader` asks the database, read only and with a timeout for each statement. It returns `Facts`
and lists what the login may not see. The rest is pure: `Facts` in, findings out.

* The fleet: `diagnose` collects the findings of `fleet`, `limits`, `server` and `storage`. A
  `Finding` says what is wrong, what it means, and the steps that fix it.
* The setup: `setup` returns a `SetupCheck` for everything that was checked.
* It may import `fairlead.db`, the policy and `formats`.

Begin with `diagnose`, then `fleet`.
"""
