"""The autoscaler: decides how many pods each pool of workers has, and says why."""
