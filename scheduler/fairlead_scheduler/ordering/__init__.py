"""The fair order: which pending jobs enter `work_queue` next, and with which order tags.

Goes in: heads from `pending`, the compiled policy, claims, endings and rows handed back, and
the slots and depth of each pool. Comes out: a `Plan` per pool, and the rows to recall.

`router` holds one `fair_order` for each (pool, band) and sends every event to them. A `ledger`
keeps the tags of one (pool, band) in the heaps of `levels`, over the branches and accounts to
which `lanes` are charged; `picker` fills a plan from it. The rest serves these:
`apply_policy`, `renamed_queues` and `recovery` change a ledger as a whole, `job_checks` passes
over heads that keys or rules block, `blocked` counts blocked lanes, `reserve`, `eviction` and
`aging` are three of the policy's features.

It imports `limits`, `pending` and `policy`, and no clock, random or I/O. Begin with
`router.Router.plan`, then `fair_order.FairOrder.pick`.
"""
