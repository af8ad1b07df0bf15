"""Cron: schedules insert a job at each of their fires, once each.

In: the table `schedules`, the database's time, the epoch. Out: rows of `jobs` and
`schedule_fires`, and `problem` for a schedule that cannot be fired.

`fairlead.cron_times` in the core says when an expression fires in a time zone, and
`missed_fires`, which is pure, which fires to insert now. `fire_rates` says when those of a
tenant with many may go. `late_fires` counts what the log says of them, and `full_lanes` holds
those of lanes over their backlog limit. `reading` says which schedules are read. `timetable` is
the heap of next fires. `runner` fires in batches, by the statements of `store`. They import
`leadership`, `metrics` and `settings`. Begin with `missed_fires.decide`.
"""
