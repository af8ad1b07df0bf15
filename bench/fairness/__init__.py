"""How fair the order is: recorded or generated traffic, simulated under several policies.

In: the parameter files in `workloads`, or a recorded trace. Out: one table of targets, JSON, a
picture and the page docs/explanation/fairness.md.

`traffic` makes the jobs, `contenders` are the orders that play them in simulated time,
`results` are what comes of a run. `postgres` plays the same jobs under Fairlead's own
processes, and `scenes` disturbs those. Each package imports only those named before it. Begin
with `__main__`, then `evaluation.evaluate`; `flood` draws the README's picture.
"""
