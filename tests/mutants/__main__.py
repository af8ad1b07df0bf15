"""Hold the tests against mutants: `python -m tests.mutants [--only TEXT] [--record]`.

With `--generated` the mutants are those that operators make, with `--holes` the holes that were
found by hand are opened again before the machinery that is to find such by itself. First all
tests that are named run on the product itself, since a test that fails there kills every
mutant: it judges none. The exit code is 1 if a mutant survives or its tests do not run; a hole
may survive.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from time import monotonic

from tests.mutants import generating, opening, page
from tests.mutants.mutants import (
    GENERATED,
    Mutant,
    Verdict,
    copied_tree,
    judge,
    mutants,
    run,
)
from tests.mutants.page import PAGE, Judged

_TESTS_AT_ONCE = 25
Roots = SimpleQueue[Path]


def main() -> int:
    """Judge the mutants whose name or reason has the text; print a line for each."""
    asked = _asked()
    page.commit()  # which may move while mutants are judged
    if asked.holes:
        return _opens_holes(asked)
    if asked.generated:
        chosen = generating.generated(asked.only, seed=asked.seed, sample=asked.sample)
    else:
        known = page.recorded() if asked.unrecorded else set[str]()
        chosen = [x for x in mutants() if generating.is_asked(f"{x.name} {x.why}", asked.only)]
        chosen = [each for each in chosen if each.name not in known]
    if asked.list:
        _list(chosen)
        return 0
    with ExitStack() as opened:
        roots = Roots()
        for _ in range(asked.processes):
            roots.put(opened.enter_context(copied_tree()))
        pool = opened.enter_context(ThreadPoolExecutor(asked.processes))
        marks = GENERATED if asked.generated else ""
        failing = _baseline(chosen, pool, roots, marks)
        if failing:
            sys.stdout.write("These fail without a mutant, so they can judge none:\n")
            sys.stdout.writelines(f"  {test}\n" for test in sorted(failing))
            chosen = [each for each in chosen if failing.isdisjoint(each.tests)]
        ends_at = monotonic() + 60 * asked.minutes if asked.minutes else None
        done = pool.map(partial(_judge, roots, ends_at), chosen)
        judged: list[Judged] = []
        for each in done:
            if each is not None:
                judged.append(each)
                is_known = each.verdict is not Verdict.BROKEN
                if asked.record and is_known and not asked.generated:
                    page.write_by_hand([each])
    counts = Counter(each.verdict for each in judged)
    said = ", ".join(f"{counts[each]} {each.value}" for each in Verdict if counts[each])
    sys.stdout.write(f"Of {len(judged)} mutants: {said}\n")
    if asked.record and asked.generated:
        sources = {each.mutant.source for each in judged}
        page.write_generated(judged, generating.counted(sources))
    return bool(failing) or counts[Verdict.SURVIVED] + counts[Verdict.BROKEN] > 0


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--generated", action="store_true", help="what operators make")
    kind.add_argument("--holes", action="store_true", help="what finds the holes by itself")
    parser.add_argument("--only", action="append", metavar="TEXT", help="of the name or reason")
    parser.add_argument("--unrecorded", action="store_true", help="those that no row is of")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of the generated")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="which these are, and what chaos draws"
    )
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="side by side")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin none afterwards")
    parser.add_argument("--list", action="store_true", help="judge none")
    parser.add_argument("--record", action="store_true", help=f"write {PAGE.name}")
    return parser.parse_args()


def _opens_holes(asked: argparse.Namespace) -> int:
    """Ask what finds each hole; one at a time, since chaos beside chaos starves it."""
    chosen = opening.opened(asked.only)
    if asked.list:
        _list(chosen)
        return 0
    return not opening.judge_all(chosen, seed=asked.seed, record=asked.record)


def _list(chosen: Iterable[Mutant]) -> None:
    sys.stdout.writelines(f"{each.name}\n    {' '.join(each.tests)}\n" for each in chosen)


def _baseline(
    chosen: Iterable[Mutant], pool: ThreadPoolExecutor, roots: Roots, marks: str
) -> set[str]:
    """Run all named tests on the product; return those that fail."""
    asked = [each for each in chosen if not each.equivalent]
    named = list(dict.fromkeys(test for each in asked for test in each.tests))
    parts = [named[at : at + _TESTS_AT_ONCE] for at in range(0, len(named), _TESTS_AT_ONCE)]

    def failing(part: list[str]) -> list[str]:
        passed = _in_a_root(roots, lambda root: run(part, root, marks=marks))
        if passed is Verdict.SURVIVED:
            return []
        half = len(part) // 2
        return failing(part[:half]) + failing(part[half:]) if half else part

    return {test for tests in pool.map(failing, parts) for test in tests}


def _judge(roots: Roots, ends_at: float | None, mutant: Mutant) -> Judged | None:
    """Judge a mutant and say what became of it; None: it is too late to begin."""
    began = monotonic()
    if ends_at is not None and began > ends_at:
        return None
    verdict = _in_a_root(roots, lambda root: judge(mutant, root))
    judged = Judged(mutant, verdict, monotonic() - began)
    sys.stdout.write(f"{judged.verdict.value:9} {judged.seconds:6.1f} s  {mutant.name}\n")
    sys.stdout.flush()
    return judged


def _in_a_root(roots: Roots, work: Callable[[Path], Verdict]) -> Verdict:
    root = roots.get()
    try:
        return work(root)
    finally:
        roots.put(root)


if __name__ == "__main__":
    sys.exit(main())
