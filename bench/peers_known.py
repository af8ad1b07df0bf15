"""The peers, how many jobs each drains in a few seconds, and its tuned settings."""

from __future__ import annotations

import tomllib
from pathlib import Path

from bench.contender import PeerContender, Settings

TUNED = Path(__file__).resolve().parent / "peers" / "tuned.toml"

_DRAIN_JOBS = {"pgqueuer": 30_000, "procrastinate": 1_000, "chancy": 3_000, "oban": 3_000}
_UNFINISHED = {
    "pgqueuer": "select exists (select from pgqueuer where status in ('queued', 'picked'))",
    "procrastinate": (
        "select exists (select from procrastinate_jobs where status in ('todo', 'doing'))"
    ),
    "chancy": (
        "select exists (select from chancy_jobs"
        " where state in ('pending', 'running', 'retrying'))"
    ),
    "oban": (
        "select exists (select from oban_jobs"
        " where state in ('available', 'executing', 'scheduled', 'retryable'))"
    ),
}
# Several managers in one process help a drain and double the latency of a single job.
_IDLE: dict[str, Settings] = {"pgqueuer": {"managers": 1}}
NAMES = tuple(_DRAIN_JOBS)


def known(python: Path) -> tuple[PeerContender, ...]:
    """Return every peer with the settings that the recorded search found best."""
    tuned = tomllib.loads(TUNED.read_text())
    return tuple(
        PeerContender(
            name=name,
            drain_jobs=_DRAIN_JOBS[name],
            unfinished=_UNFINISHED[name],
            settings=tuned[name]["settings"],
            idle_settings=_IDLE.get(name, {}),
            python=python,
        )
        for name in NAMES
    )
