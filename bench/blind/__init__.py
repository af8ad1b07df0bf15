"""Fairlead's programs without metrics: they count nothing and read nothing for gauges.

`python -m bench.blind.scheduler` and `python -m bench.blind.worker` run the unchanged programs
without metrics. The difference in speed is the cost of metrics. The product has no such
setting.
"""
