"""Benchmarks of Fairlead beside other PostgreSQL queues, as ratios measured in one run."""
