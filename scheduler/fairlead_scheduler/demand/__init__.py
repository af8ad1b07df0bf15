"""What a pool needs: the input of the autoscaler.

Goes in: the ledgers of a pool, its maximum of slots, and counts of lanes that were not read to
the end. Comes out: a `CountResult`, and from it the `PoolDemand` that is published.

`count` counts the lanes of a pool, some in each tick; `values` are what is read and published.
It imports `ordering`, `limits`, `pending` and `policy`, and no I/O. Begin with
`count.DemandCount.step`.
"""
