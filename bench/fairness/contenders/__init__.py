"""The contenders: Fairlead's order, reference policies and the ideal, in simulated time.

In: a trace, a contender's name such as `sqs@0`, edits of weights. Out: the outcome of each job.

`registry` has the contenders by name with their conditions, and `simulation` runs one.
`fairlead` is the product's order, `references` and `sqs` are those of others, `ideal` is the
fluid that knows all run times; `policy` is what they have in common. Pure; imports `traffic`.
Begin with `registry.contender`.
"""
