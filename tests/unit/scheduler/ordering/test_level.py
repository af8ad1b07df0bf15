"""One level of the fair order, by itself."""

from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.ordering.levels.level import NEVER, Level
from fairlead_scheduler.ordering.levels.virtual_time import TAG_SHIFT

MS = 1000


def test_the_cap_sets_back_by_what_jobs_up_to_it_may_have_had_whatever_the_weights() -> None:
    """Eight jobs at most, uncharged for 25 ms, shared by weights of 1000 in all."""
    level: Level[Account] = Level()
    level.active, level.weight = 2, 1000.0

    level.limit(8, 25 * MS)

    assert 8 * 25 * MS // 1000 == level.setback >> TAG_SHIFT


def test_a_member_that_enters_again_where_it_stood_has_one_entry() -> None:
    """Or the heap stays so large that each plan goes through all of it."""
    branch = Branch(0, 0, 1.0, 100 * MS)
    level, account = branch.accounts, branch.account_of("a", 1.0)
    level.join(account)
    for _ in range(100):
        level.put(account)

    level.advance(NEVER, 0)

    assert [account.key] == level.ready
