"""How much work the demo inserts, and when: by what the run itself has measured.

A number of files that keeps one machine busy for a minute is done in ten seconds on another.
So the flood is kept so many *seconds* long until the last act, its files round and round, and
of each small package come as many as there is time for. Values in, values out.
"""

from collections import deque
from collections.abc import Mapping
from pathlib import Path

from examples.demo.sources import Package, Sources

_FLOOD_SECONDS = 8.0
"""So long the flood's jobs would keep the fleet busy; at the end they take so long to drain."""
_FLOOD_JOBS_LOWEST = 240
"""What the flood begins with, before there is a rate."""
_TENANT_JOBS_LOWEST = 20
"""No tenant of the flood is without work until the next look, however light."""
_SMALL_SECONDS = 7.0
"""So long all jobs of the small packages may keep the fleet busy."""
_SMALL_JOBS_LOWEST = 3
_RATE_SECONDS = 4.0


class Feed:
    """What has been inserted of each package, and what comes next."""

    def __init__(self, work: Sources) -> None:
        self._flood = work.flood
        self._coming = deque(work.small)
        self._small_packages = len(work.small)
        self._small_files = sum(len(paths) for _, paths in work.small)
        self._looks: deque[tuple[float, int]] = deque()
        self._rate = 0.0
        self.inserted = {name: 0 for name, _ in work.packages}
        """How many jobs of each package there have been."""

    @property
    def rate(self) -> float:
        """Jobs that ended in a second, of late; 0 until some have."""
        return self._rate

    @property
    def is_over(self) -> bool:
        """Whether every small package has come."""
        return not self._coming

    @property
    def coming(self) -> int:
        """How many jobs the small packages that are to come would be now."""
        return sum(self._count(paths) for _, paths in self._coming)

    def look(self, seconds: float, ended: int) -> None:
        """Learn how many jobs have ended by now."""
        self._looks.append((seconds, ended))
        while self._looks[0][0] < seconds - _RATE_SECONDS:
            self._looks.popleft()
        before_seconds, before = self._looks[0]
        if seconds > before_seconds:
            self._rate = (ended - before) / (seconds - before_seconds)

    def flood(self, done: Mapping[str, int], weights: Mapping[str, float]) -> list[Package]:
        """Return what is to be inserted so that the flood is as long as it should be.

        Args:
            done: the jobs of each package that have ended.
            weights: of the packages whose weight is not 1: they use up their jobs faster.
        """
        whole = max(_FLOOD_JOBS_LOWEST, self._rate * _FLOOD_SECONDS)
        of = {name: weights.get(name, 1.0) for name, _ in self._flood}
        more: list[Package] = []
        for name, paths in self._flood:
            wanted = max(_TENANT_JOBS_LOWEST, round(whole * of[name] / sum(of.values())))
            left = self.inserted[name] - done.get(name, 0)
            if left < wanted:
                more.append((name, self._take(name, paths, wanted - left)))
        return more

    def small(self, part: float) -> list[Package]:
        """Return the small packages that come next, so that this part of them has come.

        Of each comes as much as there is time for.
        """
        more: list[Package] = []
        while self._coming and len(self._coming) > (1.0 - part) * self._small_packages:
            name, paths = self._coming.popleft()
            count = self._count(paths)
            spread = tuple(paths[index * len(paths) // count] for index in range(count))
            self.inserted[name] += count
            more.append((name, spread))
        return more

    def stop(self) -> None:
        """Leave out the small packages that have not come."""
        self._coming.clear()

    def _take(self, name: str, paths: tuple[Path, ...], count: int) -> tuple[Path, ...]:
        """Return a package's next files; after the last comes the first again."""
        begin = self.inserted[name]
        self.inserted[name] += count
        return tuple(paths[(begin + index) % len(paths)] for index in range(count))

    def _count(self, paths: tuple[Path, ...]) -> int:
        share = min(1.0, self._rate * _SMALL_SECONDS / self._small_files)
        return min(len(paths), max(_SMALL_JOBS_LOWEST, round(len(paths) * share)))
