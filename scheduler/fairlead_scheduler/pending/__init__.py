"""The pending jobs that the leader holds in memory.

In: rows that the refill, the tail, probes, promotions and scans of all lanes find. Out: heads
per lane for the fair order, and what to read next.

`heads` prefetches, with the stream and lane state of `cursors`; `tail` follows new ids and
probes holes that late commits may fill; `watermarks` says where scans of growing tables begin;
`tenant_turns` and `lane_round` let tenants and lanes take turns; `values` has the tuples. Pure,
and imports nothing of the scheduler. Begin with `heads`.
"""
