"""What the extras bring, and the sentence for one that is not installed.

`pip install fairlead` brings what an application and a worker need. Each other program asks
here before it loads what it rests on: what is missing is one sentence and no traceback.
"""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal, TypeAlias

Extra: TypeAlias = Literal["cli", "scheduler", "autoscaler", "console", "dev"]

MODULES: Mapping[Extra, tuple[str, ...]] = {
    "cli": ("typer", "rich", "yaml"),
    "scheduler": ("cel_expr_python", "cronsim", "yaml"),
    "autoscaler": ("cel_expr_python", "kubernetes", "urllib3", "yaml"),
    "console": ("anyio", "cronsim", "jinja2", "starlette", "uvicorn", "yaml"),
    # Its PostgreSQL may be one of the machine instead, which `fairlead dev` looks for.
    "dev": (
        *("anyio", "cel_expr_python", "cronsim", "jinja2", "rich", "starlette", "typer"),
        *("uvicorn", "watchfiles", "yaml"),
    ),
}
"""What each extra is needed for; of what a module brings itself nothing is said."""


def require(extra: Extra) -> None:
    """Exit with 2 and one sentence unless everything of an extra is installed."""
    for module in MODULES[extra]:
        if find_spec(module) is None:
            sys.stderr.write(f"fairlead: {_sentence(module, extra)}\n")
            raise SystemExit(2)


def sentence(error: ModuleNotFoundError) -> str | None:
    """Return what to install for a module of an extra; None for any other one."""
    missing = (error.name or "").partition(".")[0]
    for extra, modules in MODULES.items():
        if missing in modules:
            return _sentence(missing, extra)
    return None


def _sentence(module: str, extra: Extra) -> str:
    return f"{module} is not installed: pip install 'fairlead[{extra}]'"
