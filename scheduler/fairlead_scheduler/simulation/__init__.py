"""The fair order in simulated time: what a policy would do with given traffic."""
