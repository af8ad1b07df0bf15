"""Fail over again and again, print each gap and verdict, and record them.

`python -m tests.chaos.fail_overs --kind sync --times 100 --seed 1`
"""

import argparse
import sys
from typing import cast

from docs.generate import fail_overs as page
from tests.chaos.fail_overs import record, series
from tests.chaos.fail_overs.rounds import Kind
from tests.support import leftovers
from tests.support.tree import ROOT


def main() -> int:
    """Run what the command line asks for; return whether something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.fail_overs")
    parser.add_argument("--kind", choices=["sync", "async", "planned"], required=True)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true", help="write the page's figures anew")
    given = parser.parse_args()
    leftovers.end_with_this_run()
    kind = cast("Kind", given.kind)
    _say(f"--kind {kind} --times {given.times} --seed {given.seed}")
    found = series.run(kind, given.times, given.seed, say=_say)
    assert found.last is not None
    _say(
        f"{len(found.rounds)} fail-overs, {found.acknowledged} acknowledged,"
        f" {dict(found.last.outcomes)}, {found.last.refused} stale ends refused,"
        f" {len(found.wrong)} violations"
    )
    if found.wrong:
        return 1
    if given.record:
        record.write(kind, given.seed, found)
        (ROOT / page.PATH).write_text(page.render(), "utf-8")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
