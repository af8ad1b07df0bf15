"""A file can be held in mind at once, a function fits on a screen, a module says what it is."""

import ast
from pathlib import Path

from tests.support import tree

FILE_LINES_MAX = 400
FILE_LINES_MAX_IN_A_PACKAGE = 500
"""A cohesive module is not cut by count where its package already cuts by concern."""
FUNCTION_LINES_MAX = 50
GENERATED = {Path("core/fairlead/db/schema.sql")}


def long_functions(module: ast.Module) -> tuple[str, ...]:
    """Name the functions that do not fit on a screen."""
    return tuple(
        each.name
        for each in tree.functions(module)
        if (each.end_lineno or each.lineno) - each.lineno + 1 > FUNCTION_LINES_MAX
    )


def undocumented(module: ast.Module) -> bool:
    """Tell whether a module fails to say what it is."""
    return ast.get_docstring(module) is None


def lines_max(path: Path) -> int:
    """Return how long a file may be."""
    packaged = path.parts[0] in tree.ROOMS and len(path.parts) > len(("room", "root", "module"))
    return FILE_LINES_MAX_IN_A_PACKAGE if packaged else FILE_LINES_MAX


def test_no_file_is_longer_than_400_lines_or_500_in_a_package() -> None:
    """Files that people write have at most 400 lines, those of a room's packages 500."""
    too_long = [
        f"{path}: {lines}"
        for path in tree.files(".py", ".sql", ".sh")
        if path not in GENERATED
        and (lines := len(tree.text(path).splitlines())) > lines_max(path)
    ]

    assert [] == too_long


def test_no_function_is_longer_than_50_lines() -> None:
    """Functions have at most 50 lines."""
    too_long = {path: long_functions(tree.module(path)) for path in tree.files(".py")}

    assert {} == {path: names for path, names in too_long.items() if names}


def test_every_module_says_what_it_is() -> None:
    """Every module starts with a docstring."""
    assert [] == [path for path in tree.files(".py") if undocumented(tree.module(path))]


def test_the_size_rule_sees_a_function_of_51_lines_and_lets_one_of_50_pass() -> None:
    """The limit is exact."""
    fits = "def fits():\n" + "    1\n" * 49
    exceeds = "def exceeds():\n" + "    1\n" * 50

    assert ("exceeds",) == long_functions(ast.parse(fits + exceeds))


def test_the_docstring_rule_is_not_satisfied_by_a_comment() -> None:
    """A comment is no docstring."""
    assert undocumented(ast.parse("# a comment\nx = 1\n"))
