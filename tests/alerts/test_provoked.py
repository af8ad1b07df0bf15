"""Every alert has a test that provokes it, on a real fleet or on a real cluster.

This reads those tests, and runs none: it says only that no alert is forgotten. That each fires,
alone, is proved by `make chaos` and `make e2e-long`, which run them.
"""

import ast
from collections.abc import Iterable, Mapping

from docs.generate import alerts
from tests.support import tree

_ONLY_TRIED = frozenset(
    f"Fairlead{name}"
    for name in (
        *("LeaderChanges", "TasksFail", "MigrationFailed", "ForeignWriter", "RolloutStuck"),
        *("AutoscalerErrors", "AutoscalingPaused", "LanesPaused", "RuleDisabled"),
        "SeriesDropped",
    )
)
"""Alerts that promtool alone has tried, by the series of their cases."""
_AWAITS = "alone"
"""What the tests expect alerts by: it fails unless just those that it is given fire."""


def texts(value: ast.expr, bound: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the texts in an expression: itself, a tuple's, a dict's keys, those of a name."""
    match value:
        case ast.Constant(value=str(text)):
            return frozenset({text})
        case ast.Name(id=name):
            return bound.get(name, frozenset())
        case ast.Starred(value=inner):
            return texts(inner, bound)
        case ast.Tuple(elts=parts):
            return frozenset(text for each in parts for text in texts(each, bound))
        case ast.Dict(keys=keys):
            return frozenset(text for each in keys if each for text in texts(each, bound))
        case _:
            return frozenset()


def assigned(statements: Iterable[ast.stmt]) -> dict[str, frozenset[str]]:
    """Return the texts that names stand for."""
    return {
        target.id: texts(statement.value, {})
        for statement in statements
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def expected(source: str) -> set[str]:
    """Return the alerts that the functions of a file expect to fire."""
    module = ast.parse(source)
    functions = [each for each in ast.walk(module) if isinstance(each, ast.FunctionDef)]
    return {
        text
        for function in functions
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == _AWAITS
        for given in call.args[1:]
        for text in texts(given, {**assigned(module.body), **assigned(function.body)})
    }


def provoked() -> set[str]:
    """Return the alerts that the tests of a fleet or a cluster expect to fire."""
    files = [*tree.ROOT.glob("tests/*/test_alerts*.py")]
    return {each for path in files for each in expected(path.read_text("utf-8"))}


def test_every_alert_has_a_test_that_provokes_it() -> None:
    """None is forgotten but those that are named, and nothing is expected that is no alert."""
    assert set(alerts.names()) == provoked() | _ONLY_TRIED
    assert set() == provoked() & _ONLY_TRIED


def test_an_alert_that_is_only_named_is_not_provoked() -> None:
    """One has to be given to what fails unless it fires, by whatever name."""
    source = """
MANY = {"A": 1, "B": 2}
def test_it(fleet):
    name, other = "X", "Y"
    one, two = 1, 2
    pair = ("C", "D")
    print("Z")
    with alone(fleet, *MANY, "E"), alone(fleet, *pair):
        called(fleet, "F")
"""
    assert {"A", "B", "C", "D", "E"} == expected(source)
