"""The demo has as much work as the machine can do in its time, and no tenant runs out of it."""

from pathlib import Path

import pytest

from examples.demo.feed import Feed
from examples.demo.sources import Sources

FLOOD, SMALL = 6, 60
WEIGHED = {"flood-0": 10.0, "flood-1": 10.0}


def work(*, files: int = 500, small_files: int = 20) -> Sources:
    """Return six large packages and sixty small ones."""
    flood = [(f"flood-{n}", files) for n in range(FLOOD)]
    small = [(f"small-{n}", small_files) for n in range(SMALL)]
    return Sources(
        tuple(
            (name, tuple(Path(str(n)) for n in range(count))) for name, count in flood + small
        ),
        left_out=0,
    )


def measured(rate: float, **sizes: int) -> Feed:
    """Return a feed of which so many jobs a second have ended, and nothing is left."""
    feed = Feed(work(**sizes))
    feed.look(10.0, 0)
    feed.look(12.0, round(2 * rate))
    return feed


def test_the_flood_begins_with_some_of_each_package() -> None:
    """Before anything was measured it is not known how much it should be."""
    more = Feed(work()).flood({}, {})

    assert [(f"flood-{n}", 40) for n in range(FLOOD)] == [(name, len(f)) for name, f in more]


@pytest.mark.parametrize("rate", [5.0, 70.0, 1_000.0])
def test_a_weighed_tenant_has_work_for_seconds_at_any_speed(rate: float) -> None:
    """At ten of twenty-four parts it ends so many of the jobs; a look comes every quarter."""
    feed = measured(rate)
    feed.flood({}, WEIGHED)
    lasts_seconds = feed.inserted["flood-0"] / (rate * 10 / 24)

    assert 8.0 <= round(lasts_seconds, 1)
    assert all(20 <= feed.inserted[f"flood-{n}"] for n in range(FLOOD))


def test_the_flood_is_topped_up_by_what_has_ended() -> None:
    """And by no more: at the end it is to drain in time."""
    feed = measured(60.0)
    feed.flood({}, {})

    assert [] == feed.flood({}, {})
    assert [("flood-2", 7)] == [
        (name, len(files)) for name, files in feed.flood({"flood-2": 7}, {})
    ]


def test_after_the_last_file_comes_the_first_again() -> None:
    """A fast machine measures a package more than once."""
    feed = measured(60.0, files=50)
    ((_, paths), *_) = feed.flood({}, {})

    assert [str(n % 50) for n in range(80)] == [str(path) for path in paths]


@pytest.mark.parametrize(("rate", "each"), [(0.0, 3), (50.0, 6), (100.0, 12), (9_000.0, 20)])
def test_of_each_small_package_comes_what_there_is_time_for(rate: float, each: int) -> None:
    """All together no more than keeps the fleet busy for some seconds, and of each a little."""
    feed = measured(rate)
    assert SMALL * each == feed.coming

    came = feed.small(1.0)

    assert [each] * SMALL == [len(files) for _, files in came]
    assert (True, []) == (feed.is_over, feed.small(2.0))


def test_the_small_packages_come_one_by_one_by_the_clock() -> None:
    """However seldom a loaded machine looks, they have come in their time."""
    feed = measured(5.0)

    came = [[name for name, _ in feed.small(part)] for part in (0.0, 0.01, 0.02, 0.1)]

    assert [[], ["small-0"], ["small-1"], [f"small-{n}" for n in range(2, 6)]] == came
    assert not feed.is_over


def test_what_has_not_come_in_time_is_left_out() -> None:
    """A slow machine ends in time, too."""
    feed = measured(5.0)
    feed.small(0.01)
    feed.stop()

    assert (True, 0) == (feed.is_over, feed.coming)
    assert 3 == sum(feed.inserted.values())


def test_the_rate_is_of_the_last_seconds() -> None:
    """A pause, as after a death, is forgotten."""
    feed = Feed(work())
    for seconds, ended in ((0.0, 0), (10.0, 0), (12.0, 100), (14.0, 200)):
        feed.look(seconds, ended)

    assert 50.0 == feed.rate
