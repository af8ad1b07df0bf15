"""The results: figures of a run, their targets, and the table, picture and page made of them.

In: the outcomes of jobs, by contender. Out: an `Outcome` per workload, rows of targets, JSON, a
PNG, and the written parts of docs/explanation/fairness.md.

`metrics` computes over the outcomes of jobs, `figures` gives each figure its name, `outcome`
joins a workload's contenders. `table` compares with targets; `report` prints and writes,
`picture` draws, `record` rewrites the page. Imports `contenders` and `traffic`. Begin with
`outcome.measure`, then `table.rows`.
"""
