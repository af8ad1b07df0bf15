"""What all scenarios of one run share: server, contenders, form and the rounds run so far."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.contender import Contender, PeerContender
from bench.fairlead_contender import FairleadContender
from bench.floors.contender import TWO_STAGE
from bench.rounds import Drain, drain
from bench.server import Server

DrainRound = dict[str, Drain]
_DRAIN_ROUNDS_QUICK, _DRAIN_ROUNDS_LONG = {1: 2, 2: 3}, 7
"""By workers: with one of them the ratio is so far from its bar that two rounds suffice."""
_IN_EVERY_ROUND = ("fairlead", "pgqueuer")
"""The other contenders are so far behind that one round of the quick form suffices."""


@dataclass(slots=True, kw_only=True)
class Context:
    """One run. `with_fairlead` is false when only peers and floors are measured."""

    server: Server
    peers: tuple[PeerContender, ...]
    fairlead: FairleadContender
    long: bool
    seed: int
    with_fairlead: bool = True
    kept: dict[str, object] = field(default_factory=dict[str, object])
    _drains: dict[int, list[DrainRound]] = field(default_factory=dict[int, list[DrainRound]])

    @property
    def contenders(self) -> tuple[Contender, ...]:
        """Return Fairlead and its peers."""
        ours: tuple[Contender, ...] = (self.fairlead,) if self.with_fairlead else ()
        return (*ours, *self.peers)

    def rounds(self, quick: int, long: int) -> int:
        """Return the number of rounds of this run's form."""
        return long if self.long else quick

    def shuffled(self, contenders: Sequence[Contender], turn: int) -> list[Contender]:
        """Return the contenders in another order each turn, the same for the same seed."""
        order = list(contenders)
        random.Random(self.seed * 1000 + turn).shuffle(order)
        return order

    def drains(self, workers: int) -> list[DrainRound]:
        """Drain every contender in rounds, taking turns; a repeat returns the same.

        P1 and P7 use the same rounds, since both measure one worker's drain.
        """
        if workers not in self._drains:
            rounds = self.rounds(_DRAIN_ROUNDS_QUICK[workers], _DRAIN_ROUNDS_LONG)
            self._drains[workers] = [
                {
                    each.name: self._drain(each, workers)
                    for each in self.shuffled(self._drained_in(turn), turn)
                }
                for turn in range(rounds)
            ]
        return self._drains[workers]

    def _drained_in(self, turn: int) -> list[Contender]:
        """Return the contenders of a round; the quick form's later rounds have only some."""
        everyone: tuple[Contender, ...] = (*self.contenders, TWO_STAGE)
        if self.long or turn == 0:
            return list(everyone)
        return [each for each in everyone if each.name in _IN_EVERY_ROUND]

    def _drain(self, contender: Contender, workers: int) -> Drain:
        jobs = contender.drain_jobs * (workers if self.long else 1)
        result = drain(self.server, contender, workers=workers, jobs=jobs)
        say(f"  drain, {workers} worker(s), {contender.name}: {result.drain_rate:,.0f} jobs/s")
        return result


def say(text: str) -> None:
    """Print one line of progress at once."""
    print(text, flush=True)
