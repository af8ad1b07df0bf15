"""How long a job will take: the mean of its lane, shrunk towards a cautious prior.

The first samples of a lane say little, and an estimate that trusts them lets a tenant of long
jobs flood all slots; so a prior of twice the queue's mean counts for as much as the first few
samples. A producer's `cost_hint` takes the prior's place where that is more. A prior far above
the truth would hurt quiet tenants as much, which is why it is not larger.
"""

from collections.abc import Sequence

_MOMENTS_WINDOW = 1000.0


class MeanRunTime:
    """A mean of run times in microseconds: plain at first, then exponential over a window."""

    __slots__ = ("longest_us", "proven", "samples", "total_us")

    def __init__(self) -> None:
        self.samples = 0
        self.total_us = 0
        self.longest_us = 0
        """The longest run lately, one under way included, or mean of runs that ended together;
        it fades."""
        self.proven = 0
        """How many runs were added since its lane was last idle."""

    def add(self, ran_us: int, count: int, window: int) -> None:
        """Count `count` runs that took `ran_us` together, at the cost of the oldest."""
        self.proven += count
        samples = self.samples + count
        total_us = self.total_us + ran_us
        if samples > window:
            if count >= window:
                total_us = ran_us * window // count
            else:
                total_us -= self.total_us * (samples - window) // self.samples
            samples = window
        self.samples = samples
        self.total_us = total_us
        faded_us = self.longest_us - self.longest_us * min(count, window) // window
        self.longest_us = max(ran_us // max(1, count), faded_us)

    def narrow(self, window: int) -> None:
        """Remember no more samples than this."""
        if self.samples > window:
            self.total_us = self.total_us * window // self.samples
            self.samples = window

    def value_us(self, default_us: int) -> int:
        """Return the mean, at least 1; the default before the first sample."""
        return max(1, self.total_us // self.samples) if self.samples else default_us

    def shrunk_us(self, prior_us: int, prior_samples: int) -> int:
        """Return the mean with the prior counted as that many samples; at least 1."""
        total_us = prior_samples * prior_us + self.total_us
        return max(1, total_us // (prior_samples + self.samples))


class RunTimeMoments:
    """The mean and the variance of run times, over a window of 1,000 runs."""

    __slots__ = ("_squares", "_total", "samples")

    def __init__(self) -> None:
        self.samples = 0.0
        self._total = self._squares = 0.0

    def add(self, runs_us: Sequence[int]) -> None:
        """Count runs, at the cost of the oldest; one of 0 had not started."""
        runs = [run_us / 1e6 for run_us in runs_us if run_us > 0]
        keep = max(0.0, min(1.0, (_MOMENTS_WINDOW - len(runs)) / (self.samples or 1.0)))
        self.samples = self.samples * keep + len(runs)
        self._total = self._total * keep + sum(runs)
        self._squares = self._squares * keep + sum([run * run for run in runs])

    @property
    def mean(self) -> float:
        """Seconds; 0 before the first sample."""
        return self._total / self.samples if self.samples else 0.0

    @property
    def variance(self) -> float:
        """Seconds squared, at least 0."""
        return max(0.0, self._squares / self.samples - self.mean**2) if self.samples else 0.0


def prior_us(queue: MeanRunTime, first_us: int) -> int:
    """Return what to expect of a lane of this queue before its first sample."""
    return 2 * queue.value_us(0) if queue.samples else first_us
