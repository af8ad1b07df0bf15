"""Leader election: one scheduler leads, by a lease with an epoch.

In: an autocommitting session and the settings of the lease. Out: a `LeaderLease` whose epoch
fences every write, sessions that cannot block the next leader, and `PeriodicTask`, the value
in which the background packages describe their tasks.

It imports the core and `settings`. `README.md` next to this file explains lease, epochs, trust
window, zombies and take-over; begin with `election.acquire`.
"""
