"""`python -m tests.support.advisories`: fail for pinned versions with known vulnerabilities.

One request asks OSV, which has PyPI's advisories, for all pins. Its answer is kept for a day,
outside the tree. Where nothing answers, one line says so and the check passes: many machines
that build can reach no more than a package index.
"""

import hashlib
import json
import os
import sys
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from tests.support.requirements import every_pin

URL = "https://api.osv.dev/v1/querybatch"
ACCEPTED: Mapping[str, str] = {}
"""Advisories that do not concern us, by their ids, with the reason."""
_SECONDS_MAX = 10

Pin = tuple[str, str]


class _Advisory(TypedDict):
    id: str


class _Found(TypedDict, total=False):
    vulns: list[_Advisory]


class _Answer(TypedDict):
    results: list[_Found]


def check(
    pins: Collection[Pin],
    *,
    url: str = URL,
    cache: Path | None = None,
    accepted: Mapping[str, str] = ACCEPTED,
) -> int:
    """Print each advisory on a pin that is not accepted; return 1 if there is one, else 0."""
    asked = sorted(pins)
    try:
        results = _results(asked, url, cache or _cache())
    except (OSError, HTTPException, ValueError) as error:
        why = "the answer is none of its" if isinstance(error, ValueError) else error
        _say(f"advisories: not checked, since {url} cannot be asked: {why}")
        return 0
    found = [
        (name, version, advisory["id"])
        for (name, version), result in zip(asked, results, strict=True)
        for advisory in result.get("vulns", [])
        if advisory["id"] not in accepted
    ]
    for name, version, advisory in found:
        _say(
            f"advisories: {name} {version} has {advisory} (https://osv.dev/{advisory}): run "
            "`make constraints`, or accept it in tests/support/advisories.py with the reason"
        )
    if not found:
        _say(f"advisories: none on {len(asked)} pinned packages")
    return 1 if found else 0


def _question(pins: Collection[Pin]) -> bytes:
    queries = [
        {"package": {"name": name, "ecosystem": "PyPI"}, "version": version}
        for name, version in pins
    ]
    return json.dumps({"queries": queries}).encode()


def _results(pins: Collection[Pin], url: str, cache: Path) -> list[_Found]:
    """Return what is known of each pin today: the first question of a day stores the answer.

    Raises:
        OSError, HTTPException: nothing answers.
        ValueError: what answers is something else.
    """
    question = _question(pins)
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    kept = cache / f"advisories-{today}-{hashlib.sha256(question).hexdigest()[:12]}.json"
    if kept.exists():
        return _ANSWERS.validate_json(kept.read_bytes())["results"]
    headers = {"Content-Type": "application/json"}
    request = Request(url, question, headers)  # noqa: S310 - the constant above
    with urlopen(request, timeout=_SECONDS_MAX) as response:  # noqa: S310 - the constant above
        body = response.read()
    results = _ANSWERS.validate_json(body)["results"]
    if len(results) != len(pins):
        raise ValueError("some pins have no result")
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob("advisories-*.json"):
        old.unlink(missing_ok=True)
    kept.write_bytes(body)
    return results


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "fairlead"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


_ANSWERS = TypeAdapter(_Answer)

if __name__ == "__main__":
    sys.exit(check(every_pin()))
