"""Fairlead's programs without metrics: nothing is counted, and nothing read to be shown.

`python -m bench.blind.scheduler` and `python -m bench.blind.worker` run a program as it is, but
for what counts. What metrics cost is what these do faster: there is no such setting, since
nobody should want it.
"""
