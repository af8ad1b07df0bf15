"""Benchmarks of Fairlead against other PostgreSQL queues, as ratios measured in one run."""
