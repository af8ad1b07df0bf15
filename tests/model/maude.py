"""What the tests use of Maude, the tool that runs the model: its package has no types."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, cast

MISSING = "Maude is not installed on this platform: no model is explored, no chaos replayed"
_FOLDER = Path(__file__).parent
_FILES = ("database", "processes", "replaying")


class Sort(Protocol):
    """A kind of value."""

    def kind(self) -> "Sort":
        """Return the sort with which Maude looks functions up."""
        ...


class Term(Protocol):
    """A value, or an expression that is to become one."""

    def reduce(self) -> int:
        """Apply equations until none applies."""
        ...


class Function(Protocol):
    """A function of the model."""

    def __call__(self, *arguments: Term) -> Term:
        """Return the expression that applies it."""
        ...


class Module(Protocol):
    """A module: the model with its bounds."""

    def parseTerm(self, text: str) -> Term | None:  # noqa: N802 - Maude's name
        """Return what a text says, or nothing if it says nothing."""
        ...

    def findSort(self, name: str) -> Sort:  # noqa: N802 - Maude's name
        """Return a sort by its name."""
        ...

    def findSymbol(self, name: str, domain: list[Sort], range_: Sort) -> Function:  # noqa: N802 - Maude's name
        """Return a function by its name and sorts."""
        ...


class Rule(Protocol):
    """A rule, by which one state follows another."""

    def getLabel(self) -> str:  # noqa: N802 - Maude's name
        """Return its name."""
        ...


class Graph(Protocol):
    """The states that follow from one, found as they are asked for, each once."""

    def getNextState(self, state: int, index: int) -> int:  # noqa: N802 - Maude's name
        """Return the state that a state's next rule leads to; negative if there is none."""
        ...

    def getStateTerm(self, state: int) -> Term:  # noqa: N802 - Maude's name
        """Return what a state is."""
        ...

    def getStateParent(self, state: int) -> int:  # noqa: N802 - Maude's name
        """Return the state from which it was found."""
        ...

    def getRule(self, origin: int, target: int) -> Rule:  # noqa: N802 - Maude's name
        """Return a rule that leads from one to the other."""
        ...


class _Library(Protocol):
    def init(self, *, advise: bool) -> bool: ...
    def load(self, name: str) -> bool: ...
    def input(self, text: str) -> bool: ...
    def getModule(self, name: str) -> Module | None: ...  # noqa: N802 - Maude's name
    def RewriteGraph(self, term: Term) -> Graph: ...  # noqa: N802 - Maude's name


def is_here() -> bool:
    """Whether Maude is installed."""
    return find_spec("maude") is not None


@cache
def _library() -> _Library:
    library = cast("_Library", import_module("maude"))
    library.init(advise=False)
    for name in _FILES:
        if not library.load(str(_FOLDER / f"{name}.maude")):
            raise FileNotFoundError(name)
    return library


@cache
def module(base: str, **equations: str) -> Module:
    """Return a module of the model with its constants, one equation for each."""
    library = _library()
    name = f"MODULE-{module.cache_info().misses}"
    text = " ".join(f"eq {constant} = {value} ." for constant, value in equations.items())
    library.input(f"mod {name} is including {base} . {text} endm")
    made = library.getModule(name)
    if made is None:
        raise ValueError(text)
    return made


def graph(term: Term) -> Graph:
    """Return the states that follow from one."""
    return _library().RewriteGraph(term)


def parsed(of: Module, text: str) -> Term:
    """Return what a text says."""
    term = of.parseTerm(text)
    if term is None:
        raise ValueError(text)
    return term
