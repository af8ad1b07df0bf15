"""The pick order as a table: each row decides where the earlier ones tie."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from fairlead_scheduler.policy.compiled import Bands, Terms
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from tests.support import tree
from tests.support.fair_bench import MS, Bench
from tests.support.tables import table

SECOND = 1_000_000
LOW, HIGH = 5, -5
BANDS = Bands(names=("high", "low"), waits_us=(0, 60 * SECOND), ranks=((-100, -1, 0),))


def bench_of(
    terms: dict[tuple[str, str | None], Terms] | None = None, *, prior_us: int = 100 * MS
) -> Bench:
    """Return a bench with two bands, in which no lane stands back."""
    return Bench(replace(table(terms or {}), bands=BANDS), prior_us=prior_us)


def eligible() -> str:
    """A lane that is first by all other rules goes last while a limit blocks it."""
    bench = bench_of({("q", "a"): Terms(limit=1, reserve=3)})
    bench.add("q/a", 1, 1, rank=HIGH)
    bench.plan()
    bench.add("q/b", 500, rank=LOW)
    return bench.claim_order(bench.plan(1))


def band() -> str:
    """A band goes before a reserve, and before a smaller tag."""
    bench = bench_of({("q", "a"): Terms(reserve=9)})
    bench.add("q/a", 1, 1, rank=LOW)
    bench.add("r/b", 500, 500, rank=HIGH)
    return bench.claim_order(bench.plan(2))


def aged() -> str:
    """What has waited its band's longest wait counts in the band above, too."""
    bench = bench_of()
    bench.add("q/a", 1, rank=LOW)
    bench.now_us += 60 * SECOND
    bench.add("q/b", 1, 1, rank=HIGH)
    return bench.claim_order(bench.plan(2))


def reserve() -> str:
    """A reserve goes before a smaller tag, whatever the cap says."""
    bench = bench_of({("q", "a"): Terms(reserve=2)})
    bench.add("q/a", *[500] * 4, rank=HIGH)
    bench.add("q/b", *[1] * 4, rank=HIGH)
    return bench.claim_order(bench.plan(3, slots=2))


def cap() -> str:
    """A lane with twice its share in flight stands back, though its tag is smaller."""
    bench = bench_of(prior_us=1 * MS)
    bench.add("q/a", *[1] * 4, rank=HIGH)
    bench.add("q/b", *[10] * 4, rank=HIGH)
    return bench.picked(6, slots=2)


def tag() -> str:
    """Between queues first, by what their jobs took; then between the tenants of one."""
    bench = bench_of()
    bench.add("q/a", 300, 300, rank=HIGH)
    bench.add("q/b", 100, 100, rank=HIGH)
    bench.add("r/c", 100, 100, 100, 100, rank=HIGH)
    return bench.claim_order(bench.plan(6))


def tie() -> str:
    """Of equal tags the lane with nothing in flight."""
    bench = bench_of()
    bench.add("q/a", 100, 100, rank=HIGH)
    bench.add("q/b", 100, 100, rank=HIGH)
    bench.picked(2)
    bench.order.ended([3], [100 * MS])
    return bench.picked(2)


def overtaking() -> str:
    """Beyond the depth only lanes that begin to wait, before queued rows."""
    bench = bench_of()
    bench.add("q/a", *[100] * 9, rank=HIGH)
    bench.plan(4)
    bench.add("q/b", *[100] * 2, rank=HIGH)
    return bench.claim_order(bench.plan(0, slots=4))


ROWS: tuple[tuple[str, Callable[[], str], str], ...] = (
    ("eligible", eligible, "b1"),
    ("band", band, "b1 b2"),
    ("band", aged, "a1 b1"),
    ("reserve", reserve, "a1 a2 b1"),
    ("cap", cap, "a1 b1 a2 b2 a3 a4"),
    ("tag", tag, "a1 c1 b1 c2 b2 c3"),
    ("in flight", tie, "b2 a2"),
    ("overtaking", overtaking, "b1 b2"),
)


@pytest.mark.parametrize(
    ("rule", "story", "expected"), ROWS, ids=[row[1].__name__ for row in ROWS]
)
def test_a_rule_decides_where_the_earlier_ones_tie(
    rule: str, story: Callable[[], str], expected: str
) -> None:
    """The pick order of the fair order, row by row."""
    assert expected == story(), rule


def test_the_documented_table_is_the_tested_one() -> None:
    """One row of the page for each rule, in their order."""
    page = (tree.ROOT / "docs/explanation/fair-order.md").read_text("utf-8")

    rules = re.findall(r"^\| \d+ \| `([a-z ]+)` \|", page, re.MULTILINE)

    assert list(dict.fromkeys(row[0] for row in ROWS)) == rules


def test_slots_that_are_kept_hold_before_anything_else() -> None:
    """Eligible: a long job waits in whichever band, with whatever reserve."""
    short = ShortSettings(per_10_000=5000, lowest=1, shorter_us=SECOND)
    given = replace(table({("q", "a"): Terms(reserve=9)}), bands=BANDS, digest="kept")
    bench = Bench(given)
    bench.order.apply(replace(given, settings=FairSettings(turn_us=0, short=short)), 0)
    bench.add("q/a", *[5000] * 9, rank=HIGH)
    bench.add("q/b", 1, rank=LOW)

    assert "a1 b1" == bench.claim_order(bench.plan(5, slots=2))
    assert 1 == bench.order.blocked_lanes()["reserve"]
