"""How many more jobs a lane or queue may dispatch: limits, rates and concurrency keys.

In: compiled terms, jobs in flight, values of keys. Out: room for more jobs, or the reason why
there is none (`blocked_reasons.REASONS`), and since when.

`blocked_reasons` names why there is no room, `limiter` has limits and rates, `rate_usage` the
use of rate windows across policies, `concurrency_keys` the keys, `kind_limits` the limits
of kinds that workers say, `waiting_lanes` the lanes that wait for either,
`job_facts` what rules read of single jobs, `blocked_time` the time blocked by reason. Pure;
imports `policy`. Begin with `limiter`.
"""
