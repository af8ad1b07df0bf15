"""One level of the fair order, by itself."""

from fairlead_scheduler.ordering.levels.accounts import Account
from fairlead_scheduler.ordering.levels.level import Level
from fairlead_scheduler.ordering.levels.virtual_time import TAG_SHIFT

MS = 1000


def test_the_cap_sets_back_by_what_jobs_up_to_it_may_have_had_whatever_the_weights() -> None:
    """Eight jobs at most, uncharged for 25 ms, shared by weights of 1000 in all."""
    level: Level[Account] = Level()
    level.active, level.weight = 2, 1000.0

    level.limit(8, 25 * MS)

    assert 8 * 25 * MS // 1000 == level.setback >> TAG_SHIFT
