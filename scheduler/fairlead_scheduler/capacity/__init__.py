"""The capacity of workers: free slots, how deep `work_queue` should be, how busy slots are.

Goes in: live workers, claims and endings. Comes out: the `PoolSize` that a plan has room for,
and estimates for explain.

`workers` counts free slots, `prefetch` sets the depth, `utilization` measures how much of the
slots' time runs fill, `pool_state` joins these for one pool, `tick` says how long to rest. It
imports `explain` and `ordering`, and no I/O. Begin with `pool_state.PoolState.next_size`.
"""
