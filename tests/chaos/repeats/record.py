"""What faults have shown, in files from which the page is made.

A file of a fault has a line for each series: its seed, its commit, and what each round was. So
a hundred may be gathered in parts, and what is there is not run again.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import machine
from tests.chaos.repeats.series import Series

FOLDER = Path(__file__).parent / "recorded"


def path_of(fault: str) -> Path:
    """Return the file of a fault."""
    return FOLDER / f"{fault}.jsonl"


def series_of(fault: str) -> Sequence[dict[str, Any]]:
    """Return every series that is recorded of a fault."""
    path = path_of(fault)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def times(fault: str) -> int:
    """Return how often a fault has happened in what is recorded."""
    return sum(len(each["rounds"]) for each in series_of(fault))


def add(fault: str, seed: str, series: Series) -> None:
    """Add a series without a violation to its fault's file."""
    assert not series.wrong
    on = machine.describe()
    said = {
        "seed": seed,
        "commit": on.commit,
        "date": on.date,
        "machine": f"{on.cpu_model}, {on.cores} cores, {on.memory_gib} GiB",
        "postgres": series.postgres,
        "orders": series.orders,
        "rounds": [each.values() for each in series.rounds],
    }
    FOLDER.mkdir(exist_ok=True)
    with path_of(fault).open("a", encoding="utf-8") as file:
        file.write(json.dumps(said) + "\n")
