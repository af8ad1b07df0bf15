"""Tests wait for what they want to see, and never for a guessed time."""

import ast

from tests.support import tree


def sleeps(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a function itself sleeps; a handler that it defines may, as work may."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call) and tree.called(node) == "sleep":
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def test_no_test_sleeps() -> None:
    """A test waits on a signal, on pg_stat_activity or on a condition with a deadline."""
    sleeping = [
        f"{path}: {function.name}"
        for path in tree.files(".py")
        if path.name.startswith("test_")
        for function in tree.functions(tree.module(path))
        if function.name.startswith("test_") and sleeps(function)
    ]

    assert [] == sleeping


def test_the_sleep_rule_sees_a_loop_and_lets_a_handler_pass() -> None:
    """A sleep in a test's loop is seen; one in a handler that the test defines is work."""
    module = ast.parse(
        "def guesses():\n    while True:\n        time.sleep(1)\n"
        "def defines():\n    async def handler(job):\n        await asyncio.sleep(1)\n"
    )
    guesses, defines = (node for node in module.body if isinstance(node, ast.FunctionDef))

    assert (True, False) == (sleeps(guesses), sleeps(defines))
