"""The page of the interleavings: how many schedules ran from which start."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import environ

from bench import machine
from tests.interleavings.invariants import INVARIANTS
from tests.interleavings.operations import OPERATIONS
from tests.support import tree

PAGE = tree.ROOT / "docs/reference/proof/interleavings.md"
RECORD = "FAIRLEAD_TEST_RECORD"
"""The variable that asks for the page, and says which tests were asked for."""
SETS, SKIPPED = "sets of operations", "sets that commute"
SCHEDULES, STATES = "schedules", "states at their ends"

_HEAD = """\
# Interleavings: operations in every order of their steps

Two operations of the product run on PostgreSQL, step by step, in {orders};
a few sets of three in the orders that leave a side twice at most while it could go on.
After each commit {invariants} invariants are asked for, and at each end a leader and a
worker have to get everything done.
**{schedules} schedules of {sets} sets of operations, which ended in {states} states: {broken}**

There are {operations} operations, and a start is two jobs in one of the states below. A run
follows the last one but for its last choice that can be another. What is left out:

* {skipped} pairs of which one side changes nothing, neither before the other nor after it;
* of an operation that meets itself, what begins with the second side;
* a state in which another schedule of the same pair has ended is not looked at again.

{seconds} s of one core ({machine}), at commit {commit}, asked for: {asked}.
`python -m tests.interleavings --record` writes this page;
[ADR 0076](../../adr/0076-interleavings.md) says how it is done, and what it does not see.

## From each start

| start | pairs | left out | schedules | states at their ends | s |
| --- | --- | --- | --- | --- | --- |
"""
_SETS = """
## Sets of three

| start and operations | schedules | states at their ends | s |
| --- | --- | --- | --- |
"""
_INVARIANTS = """
## What is asked for after each commit

"""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one test has run, by the name in its brackets.

    Args:
        name: such as `running-finish` or `queued claim+recall+cancel_jobs`.
        counts: what it has counted.
        seconds: how long it took.
        has_passed: whether nothing has broken.
    """

    name: str
    counts: Mapping[str, int]
    seconds: float
    has_passed: bool


def write(ran: Iterable[Ran]) -> None:
    """Record what ran."""
    every = list(ran)
    total: Counter[str] = Counter()
    starts: dict[str, Counter[str]] = {}
    took: Counter[str] = Counter()
    for each in every:
        total.update(each.counts)
        start = each.name if " " in each.name else each.name.split("-")[0]
        starts.setdefault(start, Counter()).update(each.counts)
        took[start] += round(each.seconds)
    failed = sum(not each.has_passed for each in every)
    switches = int(environ.get("FAIRLEAD_TEST_SWITCHES", "0"))
    described = machine.describe()
    asked = environ.get(RECORD, "all")
    head = _HEAD.format(
        orders=f"the orders that leave a side {_times(switches)} at most while it could go on"
        if switches
        else "every order",
        invariants=len(INVARIANTS),
        schedules=f"{total[SCHEDULES]:,}",
        sets=f"{total[SETS]:,}",
        states=f"{total[STATES]:,}",
        broken=f"in {failed} tests something broke." if failed else "nothing broke.",
        operations=len(OPERATIONS),
        skipped=f"{total[SKIPPED]:,}",
        seconds=f"{sum(took.values()):,}",
        machine=f"{described.cpu_model}, {described.cores} cores",
        commit=machine.commit(),
        asked=asked if asked == "all" else f"`{asked}`",
    )
    pairs, threes = list[str](), list[str]()
    for start, counts in starts.items():
        ends = f"{counts[SCHEDULES]:,} | {counts[STATES]:,} | {took[start]:,} |"
        if " " in start:
            threes.append(f"| `{start}` | {ends}")
        else:
            pairs.append(f"| {start} | {counts[SETS]} | {counts[SKIPPED]} | {ends}")
    lines = "\n".join(f"* {each}" for each in INVARIANTS)
    text = head + "\n".join(sorted(pairs)) + "\n"
    text += _SETS + "\n".join(sorted(threes)) + "\n" if threes else ""
    PAGE.write_text(f"{text}{_INVARIANTS}{lines}\n", "utf-8")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
