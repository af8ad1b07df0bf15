"""Have faults happen a hundred times each, and record the gaps.

`python -m tests.chaos.repeats --times 100 --seed 1 --record` does what is left to do of it,
fault by fault, in series of which each begins anew: it may be ended at any time, and called
again. With `--fault NAME` only this one happens, with `--minutes` no series begins afterwards.
The exit code is 1 if something was wrong: then the seed of its series is printed, and nothing
of it is recorded.
"""

import argparse
import sys
from time import monotonic

from docs.generate import chaos as page
from tests.chaos.repeats import record, scenes, series
from tests.chaos.repeats.faults import FAULTS
from tests.support import leftovers
from tests.support.tree import ROOT


def main() -> int:
    """Do what the command line asks for; return whether something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.repeats")
    parser.add_argument("--fault", choices=sorted(FAULTS), action="append")
    parser.add_argument("--times", type=int, default=100, help="of each fault, in all")
    parser.add_argument("--part", type=int, default=10, help="how many are one series")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="begin no series afterwards")
    parser.add_argument("--record", action="store_true", help="keep it, and write the page")
    asked = parser.parse_args()
    leftovers.end_with_this_run()
    ends_at = monotonic() + 60 * asked.minutes if asked.minutes else None
    wrong = False
    for fault in asked.fault or FAULTS:
        if (why := scenes.lacking(FAULTS[fault].scene)) is not None:
            _say(f"{fault}: {why}")
            continue
        wrong |= _repeat(fault, asked, ends_at)
    return wrong


def _repeat(fault: str, asked: argparse.Namespace, ends_at: float | None) -> bool:
    """Have one fault happen as often as is left to do; return whether something was wrong."""
    done = record.times(fault) if asked.record else 0
    while done < asked.times and (ends_at is None or monotonic() < ends_at):
        times = min(asked.part, asked.times - done)
        seed = f"{asked.seed}.{done}"
        _say(f"{fault}: {done} of {asked.times} are done; --seed {asked.seed}, series {seed}")
        found = series.run(fault, times, seed, say=_say)
        if found.wrong:
            return True
        done += times
        if asked.record:
            record.add(fault, seed, found)
            (ROOT / page.PATH).write_text(page.render(), "utf-8")
    return False


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
