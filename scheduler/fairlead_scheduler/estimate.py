"""How long a job will take: the mean of its lane, shrunk towards a cautious prior.

The first samples of a lane say little, and an estimate that trusts them lets a tenant of long
jobs flood all slots; so a prior of twice the queue's mean counts for as much as the first few
samples. A producer's `cost_hint` takes the prior's place. A prior far above the truth would
hurt quiet tenants as much, which is why it is not larger.
"""


class Mean:
    """A mean of run times in microseconds: plain at first, then exponential over a window."""

    __slots__ = ("samples", "total_us")

    def __init__(self) -> None:
        self.samples = 0
        self.total_us = 0

    def add(self, run_us: int, window: int) -> None:
        """Count one run; the weight of a run halves every 0.7 windows."""
        samples = self.samples
        if samples < window:
            self.samples = samples + 1
            self.total_us += run_us
        else:
            self.total_us += run_us - self.total_us // samples

    def value_us(self, default_us: int) -> int:
        """Return the mean, at least 1; the default before the first sample."""
        return max(1, self.total_us // self.samples) if self.samples else default_us


def shrunk_us(lane: Mean, prior_us: int, prior_samples: int) -> int:
    """Return the lane's mean with the prior counted as that many samples; at least 1."""
    weight = prior_samples + lane.samples
    return max(1, (prior_samples * prior_us + lane.total_us) // weight)


def prior_us(queue: Mean, first_us: int) -> int:
    """Return what to expect of a lane of this queue that nothing is known of."""
    return 2 * queue.value_us(0) if queue.samples else first_us
