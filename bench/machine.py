"""What the figures were measured on: processor, memory, interpreter, commit and clock."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The conditions of one run."""

    cpu_model: str
    cores: int
    memory_gib: float
    kernel: str
    python: str
    commit: str
    date: str


def _field(path: Path, name: str) -> str:
    for line in path.read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return "unknown"


def commit() -> str:
    """Return the checked-out commit, with a plus when the tree has changes of its own."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    if head.returncode:
        return "none"
    changed = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no"],
        capture_output=True,
        text=True,
        check=False,
    )
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def describe() -> Machine:
    """Read the machine's description; `date` is the present moment in UTC."""
    memory_kib = int(_field(Path("/proc/meminfo"), "MemTotal").split()[0])
    return Machine(
        cpu_model=_field(Path("/proc/cpuinfo"), "model name"),
        cores=os.cpu_count() or 1,
        memory_gib=round(memory_kib / 1024**2, 1),
        kernel=platform.release(),
        python=platform.python_version(),
        commit=commit(),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )
