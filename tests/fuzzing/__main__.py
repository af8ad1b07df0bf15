"""Fuzz a parser guided by the branches that it takes: `python -m tests.fuzzing policy`.

It wants atheris (`pip install atheris`: Linux, 35 MB), which is no dependency of the tests: the
same promises are held to values that Hypothesis draws, in `tests/property`. What is found is
written to a file crash-..., whose name as an argument gives it to the parser again.
"""

import argparse
import importlib
import sys
import tempfile
from pathlib import Path
from typing import Any

_SECONDS = 60
_LENGTH_MAX = 4096
_NAMES = ("policy", "condition", "schedule", "message", "words")


def main() -> int:
    """Fuzz until the time is over or a promise is broken; print libFuzzer's account of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzzing")
    parser.add_argument("target", choices=_NAMES)
    parser.add_argument("found", nargs="?", type=Path, help="give this file to the parser")
    parser.add_argument("--seconds", type=int, default=_SECONDS, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    asked = parser.parse_args()
    if asked.found is not None:
        _target(asked.target).try_(asked.found.read_bytes())
        return 0
    try:
        atheris: Any = importlib.import_module("atheris")
    except ModuleNotFoundError:
        sys.stdout.write("atheris is not here: pip install atheris\n")
        return 2
    with atheris.instrument_imports(
        include=["fairlead", "fairlead_scheduler", "fairlead_worker"]
    ):
        target = _target(asked.target)
    with tempfile.TemporaryDirectory(prefix="fairlead-fuzzing-") as corpus:
        for number, seed in enumerate(target.seeds):
            (Path(corpus) / str(number)).write_bytes(seed)
        # A busy machine stops a process of low priority for seconds: that is no slow text.
        options = (f"-max_total_time={asked.seconds}", f"-seed={asked.seed}", "-timeout=120")
        atheris.Setup([sys.argv[0], *options, f"-max_len={_LENGTH_MAX}", corpus], target.try_)
        atheris.Fuzz()
    return 0


def _target(name: str) -> Any:  # noqa: ANN401 - its module is to be imported late
    return importlib.import_module("tests.fuzzing.targets").TARGETS[name]


if __name__ == "__main__":
    sys.exit(main())
