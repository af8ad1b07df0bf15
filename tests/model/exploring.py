"""Every state of the model: none breaks a promise, and from each all jobs can end.

Maude finds the states; here they are walked, nearest first, so that the first broken one has a
shortest path.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import process_time

from tests.model import maude
from tests.model.scenes import STUCK, Scene, Variant

LEASE, LEAD, BASE = 3, 1, 100
"""Ticks of a worker's lease and of a leader's; what a timeline adds to numbers, for 10^12."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a walk has found."""

    states: int
    steps: int
    depth: int
    """Of the farthest state: so many steps lead to it, on the shortest path."""
    seconds: float
    """Of one core."""
    breaks: str = ""
    path: tuple[str, ...] = ()


def explore(scene: Scene, variant: Variant | None = None) -> Found:
    """Walk all states, or until one breaks a promise."""
    began = process_time()
    walk = _Walk(scene, variant)
    breaks, state = walk.run()
    if not breaks and (stuck := walk.stuck()):
        breaks, state = STUCK, min(stuck)
    return Found(
        states=len(walk.depths),
        steps=walk.steps,
        depth=max(walk.depths.values()),
        seconds=process_time() - began,
        breaks=breaks,
        path=tuple(walk.path(state)) if breaks else (),
    )


@dataclass(slots=True)
class _Walk:
    scene: Scene
    variant: Variant | None
    depths: dict[int, int] = field(default_factory=lambda: {0: 0})
    """How many steps lead to each state; states are numbered as they are found."""
    steps: int = 0
    _before: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    _done: list[int] = field(default_factory=list[int])
    _module: maude.Module = field(init=False)
    _graph: maude.Graph = field(init=False)

    def __post_init__(self) -> None:
        variant, scene = self.variant, self.scene
        self._module = maude.module(
            "PROCESSES",
            LEASE=str(LEASE),
            LEAD=str(LEAD),
            BASE=str(BASE),
            MARGIN=str(variant.margin if variant else 1),
            LIMIT=str(scene.limit),
            breakage=f"'{variant.name if variant else 'nothing'}",
        )
        permits = " ".join(f"may('{each})" for each in scene.permits)
        start = f"< {scene.rows} | {scene.processes} {permits} >"
        self._graph = maude.graph(maude.parsed(self._module, start))

    def run(self) -> tuple[str, int]:
        """Walk; return what breaks and where, or nothing."""
        breaks, is_done = self._function("breaks", "Qid"), self._function("isDone", "Bool")
        queue = deque([0])
        while queue:
            state = queue.popleft()
            term = self._graph.getStateTerm(state)
            if (broken := _value(breaks(term))) != "'nothing":
                return broken.removeprefix("'").replace("-", " "), state
            if _value(is_done(term)) == "true":
                self._done.append(state)
            for after in self._after(state):
                self.steps += 1
                self._before[after].append(state)
                if after not in self.depths:
                    self.depths[after] = self.depths[state] + 1
                    queue.append(after)
        return "", 0

    def stuck(self) -> set[int]:
        """Return the states from which no path leads to the end of every job."""
        able = {*self._done}
        queue = deque(self._done)
        while queue:
            for state in self._before[queue.popleft()]:
                if state not in able:
                    able.add(state)
                    queue.append(state)
        return self.depths.keys() - able

    def path(self, state: int) -> Iterable[str]:
        """Return the names of the steps that lead to a state."""
        names: list[str] = []
        while state:
            parent = self._graph.getStateParent(state)
            names.append(self._graph.getRule(parent, state).getLabel().replace("-", " "))
            state = parent
        return reversed(names)

    def _after(self, state: int) -> Iterator[int]:
        index = 0
        while (after := self._graph.getNextState(state, index)) >= 0:
            yield after
            index += 1

    def _function(self, name: str, sort: str) -> maude.Function:
        of, to = (self._module.findSort(each).kind() for each in ("State", sort))
        return self._module.findSymbol(name, [of], to)


def _value(term: maude.Term) -> str:
    term.reduce()
    return str(term)
