"""Open the holes again that were found by hand, each before what is to find such by itself.

Each test runs on the product first, alone and with the same seed: what fails there finds
nothing. What does not come to its end within a long time is not counted as found either, since
a busy machine looks the same. What is found is recorded at once, with what the test said, which
a person should read: a test of processes may fail for another reason.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from tests.chaos.fleet import SEED_VARIABLE
from tests.mutants import generating, page
from tests.mutants.mutants import Mutant, Verdict, copied_tree, made, mutants, ran

_TIMEOUT_S = 1_200.0
_SWITCHES_VARIABLE = "FAIRLEAD_TEST_SWITCHES"


def opened(only: Sequence[str] | None) -> list[Mutant]:
    """Return a mutant for each hole and test of the machinery."""
    by_name = {each.name: each for each in mutants()}
    return [
        replace(by_name[hole["mutant"]], tests=(test,))
        for hole in page.holes()
        for test in hole.get("by", [])
        if generating.is_asked(f"{hole['what']} {hole['mutant']}", only)
    ]


def judge_all(chosen: Sequence[Mutant], *, seed: int, record: bool) -> bool:
    """Print what finds each of these, and record it if asked to; return whether all tests ran.

    Args:
        chosen: holes, each with one test.
        seed: what chaos draws from.
        record: write each row as soon as it is known.
    """
    os.environ.setdefault(_SWITCHES_VARIABLE, "1")
    os.environ[SEED_VARIABLE] = str(seed)
    fits: dict[str, bool] = {}
    all_ran = True
    with copied_tree() as root:
        for mutant in chosen:
            test = mutant.tests[0]
            if test not in fits:
                fits[test] = _said(test, root, "the product") is Verdict.SURVIVED
            with made(mutant, root):
                found = _said(test, root, mutant.name) if fits[test] else Verdict.BROKEN
            all_ran &= found is not Verdict.BROKEN
            if record and found is not Verdict.BROKEN:
                page.write_holes({(mutant.name, test): found is Verdict.KILLED}, seed)
    return all_ran


def _said(test: str, root: Path, what: str) -> Verdict:
    began = monotonic()
    try:
        verdict, said = ran([test], root, timeout_s=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        verdict, said = Verdict.BROKEN, f"    no end within {_TIMEOUT_S:.0f} s\n"
    words = {Verdict.KILLED: "fails", Verdict.SURVIVED: "passes"}.get(verdict, "did not run")
    name = test.rsplit("::", maxsplit=1)[-1]
    sys.stdout.write(f"{monotonic() - began:6.1f} s  {name} {words} on: {what}\n{said}")
    sys.stdout.flush()
    return verdict
