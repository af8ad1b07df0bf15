"""The traffic: which jobs arrive when, and which weights apply.

In: a parameter file of `bench/fairness/workloads` and a seed. Out: a `Workload` and its trace,
the same for the same seed.

`workload` is the form of a parameter file, `generate` makes its jobs, `weights` are policies as
the contenders know them, and edits of them. Pure but for reading the file; imports nothing of
the benchmark. Begin with `workload.Workload`.
"""
