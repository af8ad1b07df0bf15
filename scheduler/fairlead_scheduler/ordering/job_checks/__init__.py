"""Which single jobs keys and rules block, so that the first of a lane that may go does.

`head_selection` asks `job_rules` and the concurrency keys head by head. `job_attributes` asks
the reader for what heads lack, and `key_state` remembers which lanes to check next.
"""
