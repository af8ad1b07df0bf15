"""Count the lines of the report generator on Fairlead and on procrastinate, in the same way.

Lines of code: neither blank, nor comments, nor docstrings. `python -m bench.peers.lines`.
"""

import ast
import io
import tokenize
from pathlib import Path

FOLDERS = {
    "Fairlead": Path("examples/report_generator"),
    "procrastinate": Path("bench/peers/report_generator"),
}
_NO_CODE = frozenset(
    (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
)


def lines_of_code(path: Path) -> int:
    """Return how many lines of a file are code."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        stripped = (line.strip() for line in text.splitlines())
        return sum(bool(line) and not line.startswith(("#", "--")) for line in stripped)
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in _NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for each in ast.walk(ast.parse(text)):
        # A string that stands by itself says something of what is above it.
        if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            code -= {*range(each.lineno, (each.end_lineno or each.lineno) + 1)}
    return len(code)


def counted() -> dict[str, dict[str, int]]:
    """Return the lines of each file, by what it runs on."""
    return {
        name: {
            path.name: lines_of_code(path)
            for path in sorted(folder.iterdir())
            if path.suffix in (".py", ".sql", ".yaml")
        }
        for name, folder in FOLDERS.items()
    }


if __name__ == "__main__":
    for name, files in counted().items():
        print(f"{name}: {files}, {sum(files.values())} in all")
