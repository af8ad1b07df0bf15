"""Which attempts of a dead process are suspects, by the history of their kinds and tenants.

Pure: what ended, what ran when a process died and the time go in; suspects come out. The unit
is the source: the jobs of one kind of one tenant. The knowledge is one worker's own, since its
start; a worker that knows nothing suspects everything, so nothing rests on it but how many
neighbours run alone.

A death is *explained* when the job that caused it is known: it ran alone, or a source that has
caused one before was there. It then counts against nobody else. Any other death counts against
the sources of its suspects, for `WINDOW_SECONDS`, and against every source that was there once
all suspects have ended alone without another death, or where there were none. A source is
trusted when it has had many attempts that ended since the last death that counts against it.
Each further death within the window doubles how many, so that rare killers among many good jobs
lose trust as well. What was there at one death and not at the next keeps or regains its trust,
so the sets of neighbours narrow from death to death.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairlead_worker.ipc.source import Source

WINDOW_SECONDS = 600.0
"""How long a death is remembered."""
TRUSTED_FROM = 20
"""How many attempts a source must have had that ended without a death, to be trusted."""
DOUBLINGS_MAX = 6
SOURCES_MAX = 10_000
"""How many sources are remembered; those that were not heard of for longest go first."""
DEATHS_MAX = 100
"""How many unexplained deaths are remembered."""
CRASHES_MAX = 3
"""From so many deaths beside others on a job is a suspect, whatever explains them."""


@dataclass(frozen=True, slots=True)
class Present:
    """An attempt that ran when a process died; `crashes`: deaths its job has seen before."""

    token: int
    job_id: int
    source: Source
    crashes: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """The suspects' tokens, and the one source that has caused the death, as far as is known.

    That is a source that has caused one before, or the only one that is not trusted.
    """

    suspects: frozenset[int]
    cause: Source | None


@dataclass(slots=True)
class _Death:
    """An unexplained death.

    How many attempts each source that was there had had by then, those against which it counts,
    and the jobs of suspects that have not ended since.
    """

    at: float
    ended: dict[Source, int]
    against: set[Source]
    suspects: set[int]


class CrashHistory:
    """What one worker knows of sources. Every method is given the time where it matters."""

    def __init__(self) -> None:
        self._ended: OrderedDict[Source, int] = OrderedDict()
        self._unexplained: deque[_Death] = deque(maxlen=DEATHS_MAX)
        self._caused_at: OrderedDict[Source, float] = OrderedDict()

    def ended(self, counts: Iterable[tuple[Source, int]]) -> None:
        """Count attempts that ended and left their process alive."""
        for source, count in counts:
            self._ended[source] = self._ended.get(source, 0) + count
            self._ended.move_to_end(source)
        while len(self._ended) > SOURCES_MAX:
            self._ended.popitem(last=False)

    def caused(self, source: Source, now: float) -> None:
        """Note that a source has caused a death; that explains those at which it was there."""
        self._caused_at[source] = now
        self._caused_at.move_to_end(source)
        while len(self._caused_at) > SOURCES_MAX:
            self._caused_at.popitem(last=False)
        left = [death for death in self._unexplained if source not in death.ended]
        self._unexplained = deque(left, maxlen=DEATHS_MAX)

    def judge(self, present: Sequence[Present], now: float) -> Verdict:
        """Judge what ran when a process died, and remember the death."""
        sources = {each.source for each in present}
        if len(present) == 1:
            (cause,) = sources
            self.caused(cause, now)
            return Verdict(frozenset(each.token for each in present), cause)
        causes = {each for each in sources if self._has_caused(each, now)}
        if causes:
            tokens = frozenset(
                each.token
                for each in present
                if each.source in causes or each.crashes >= CRASHES_MAX
            )
            return Verdict(tokens, causes.pop() if len(causes) == 1 else None)
        suspected = [
            each
            for each in present
            if each.crashes > 0 or not self.is_trusted(each.source, now)
        ]
        self._unexplained.append(
            _Death(
                at=now,
                ended={each: self._ended.get(each, 0) for each in sources},
                against={each.source for each in suspected} or sources,
                suspects={each.job_id for each in suspected},
            )
        )
        suspects = frozenset(each.token for each in suspected)
        suspected_sources = {each.source for each in suspected}
        known = len(suspected_sources) == 1 and len(suspected) < len(present)
        return Verdict(suspects, suspected_sources.pop() if known else None)

    def ended_alone(self, job_id: int) -> None:
        """Note that a suspect has ended alone without a death: it was another one."""
        for death in self._unexplained:
            if job_id in death.suspects:
                death.suspects.discard(job_id)
                if not death.suspects:
                    death.against.update(death.ended)

    def is_trusted(self, source: Source, now: float) -> bool:
        """Return whether a source has had enough attempts since its last unexplained death."""
        deaths = [
            death.ended[source]
            for death in self._unexplained
            if death.at > now - WINDOW_SECONDS and source in death.against
        ]
        since = self._ended.get(source, 0) - max(deaths, default=0)
        return since >= TRUSTED_FROM << min(len(deaths), DOUBLINGS_MAX)

    def _has_caused(self, source: Source, now: float) -> bool:
        return self._caused_at.get(source, -WINDOW_SECONDS) > now - WINDOW_SECONDS
