"""Suspects are found by what the jobs of each kind and tenant have done before."""

from fairlead_worker.parent import crash_history
from fairlead_worker.parent.crash_history import (
    CRASHES_MAX,
    TRUSTED_FROM,
    WINDOW_SECONDS,
    CrashHistory,
    Present,
)

MAIL, REPORT, FRESH = ("mail", "ann"), ("report", "bob"), ("resize", "cy")


def present(*jobs: tuple[int, tuple[str, str]], crashes: int = 0) -> list[Present]:
    """Return attempts that ran when a process died."""
    return [Present(100 + job, job, source, crashes) for job, source in jobs]


def suspects(
    history: CrashHistory, *jobs: tuple[int, tuple[str, str]], now: float = 0.0
) -> list[int]:
    """Return the ids of the suspects among jobs that ran when a process died."""
    return sorted(token - 100 for token in history.judge(present(*jobs), now).suspects)


def trusting(*sources: tuple[str, str]) -> CrashHistory:
    """Return a history in which these have had many attempts that ended."""
    history = CrashHistory()
    history.ended([(source, 100 * TRUSTED_FROM) for source in sources])
    return history


def test_a_worker_that_knows_nothing_suspects_everything() -> None:
    """Nobody has a good history at first."""
    assert [1, 2] == suspects(CrashHistory(), (1, MAIL), (2, REPORT))


def test_what_has_ended_many_times_is_no_suspect_beside_what_has_not() -> None:
    """The neighbours of a newcomer that kills run on."""
    assert [2] == suspects(trusting(MAIL), (1, MAIL), (2, FRESH), (3, MAIL))


def test_the_only_source_without_a_good_history_is_taken_for_the_cause() -> None:
    """It counts towards its circuit breaker; of several, or where all are new, none does."""
    one, several = present((1, MAIL), (2, FRESH)), present((1, MAIL), (2, FRESH), (3, REPORT))

    assert FRESH == trusting(MAIL).judge(one, 0.0).cause
    assert trusting(MAIL).judge(several, 0.0).cause is None
    assert CrashHistory().judge(present((1, MAIL), (2, MAIL)), 0.0).cause is None


def test_one_tenants_history_says_nothing_of_another_tenants() -> None:
    """The payload is the tenant's, and so is the blame."""
    assert [2] == suspects(
        trusting(("mail", "ann")), (1, ("mail", "ann")), (2, ("mail", "eve"))
    )


def test_a_job_that_was_there_at_two_unexplained_deaths_is_a_suspect() -> None:
    """However good the history is that it hides behind."""
    history = trusting(MAIL, REPORT)
    assert [] == suspects(history, (1, MAIL), (2, REPORT))
    history.ended([(MAIL, 2 * TRUSTED_FROM), (REPORT, 2 * TRUSTED_FROM)])

    again = [*present((1, MAIL), crashes=1), *present((3, REPORT))]

    assert {101} == history.judge(again, 1.0).suspects


def test_each_unexplained_death_costs_trust_which_is_regained_by_ending() -> None:
    """It must end many more times after each death, and only those at which it was there."""
    history = CrashHistory()
    history.ended([(MAIL, TRUSTED_FROM), (REPORT, 10 * TRUSTED_FROM)])
    assert [] == suspects(history, (1, MAIL), (2, MAIL))

    assert [3] == suspects(history, (3, MAIL), (4, REPORT), now=1.0)
    history.ended([(MAIL, 4 * TRUSTED_FROM - 1)])
    assert not history.is_trusted(MAIL, 2.0)
    history.ended([(MAIL, 1)])
    assert history.is_trusted(MAIL, 2.0)


def test_a_death_counts_against_the_trusted_only_when_its_suspects_are_cleared() -> None:
    """Until then one of the suspects has probably caused it."""
    history = trusting(MAIL)
    history.judge(present((1, FRESH), (2, REPORT), (3, MAIL)), 0.0)
    assert history.is_trusted(MAIL, 1.0)

    history.ended_alone(1)
    assert history.is_trusted(MAIL, 1.0)
    history.ended_alone(2)

    assert not history.is_trusted(MAIL, 1.0)


def test_a_rare_killer_loses_its_trust_however_often_it_ends_in_between() -> None:
    """What kills once in a hundred attempts is a suspect after a few deaths."""
    history, found = trusting(REPORT), list[list[int]]()
    for death in range(5):
        history.ended([(MAIL, 100), (REPORT, 100)])
        others = [(death, MAIL), (10 + death, MAIL)]
        found.append(suspects(history, *others, now=float(death)))

    assert [[], [], []] == found[:3]
    assert [4, 14] == found[4]


def test_a_cause_that_is_known_explains_a_death_and_clears_its_neighbours() -> None:
    """It had died alone; who was beside it keeps the trust that it had, or had not."""
    history = trusting(MAIL, FRESH)
    history.judge(present((1, FRESH), (2, MAIL)), 0.0)
    assert not history.is_trusted(MAIL, 1.0)

    history.caused(FRESH, 1.0)
    verdict = history.judge(present((3, FRESH), (4, MAIL), (5, REPORT)), 2.0)

    assert history.is_trusted(MAIL, 2.0)
    assert {103} == verdict.suspects
    assert FRESH == verdict.cause


def test_a_job_that_has_seen_many_deaths_is_a_suspect_whatever_explains_them() -> None:
    """No killer hides behind another one for ever."""
    history = trusting(MAIL)
    history.caused(FRESH, 0.0)
    there = [*present((1, FRESH)), *present((2, MAIL), crashes=CRASHES_MAX)]

    assert {101, 102} == history.judge(there, 1.0).suspects


def test_what_ran_alone_in_its_process_has_caused_its_death() -> None:
    """There is nobody else."""
    history = trusting(MAIL, REPORT)
    assert [1] == suspects(history, (1, MAIL))

    assert [2] == suspects(history, (2, MAIL), (3, REPORT), now=1.0)


def test_deaths_are_forgotten_after_the_window() -> None:
    """Evidence decays, for and against."""
    history = trusting(MAIL, REPORT)
    history.caused(MAIL, 0.0)
    later = WINDOW_SECONDS + 1

    assert [] == suspects(history, (1, MAIL), (2, REPORT), now=later)
    assert history.is_trusted(MAIL, 3 * later)


def test_memory_is_bounded() -> None:
    """A tenant that is new each time costs a worker nothing in the end."""
    history = trusting(MAIL)
    history.ended([(("mail", str(n)), 1) for n in range(crash_history.SOURCES_MAX)])

    assert not history.is_trusted(MAIL, 0.0)
