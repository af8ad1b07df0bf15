"""How answers are printed: tables, durations, sentences, charts.

* In: rows of the database, and results of simulations. Out: text, JSON or a picture.
* `tables` lays rows out in the terminal's width or prints them as JSON; `formats` reads and
  writes durations, instants and counts.
* `fair_shares`, `pod_counts`, `policy_versions` and `pool_routing` add columns and sentences
  that several commands print; `comparison` and `comparison_chart` show a simulation.
* `wait_for` waits for a database or a job's end.
* It imports no command. Slow libraries are imported inside functions.

Begin with `tables`.
"""
