"""Who leads: by changes that were seen, by its own clock, for less long than others wait."""

from dataclasses import replace
from datetime import UTC, datetime

from fairlead_autoscaler.election import elector
from fairlead_autoscaler.election.elector import Election, Lease, NextStep

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FREE = Lease(version="1")
HELD = Lease(version="5", holder="other", duration_seconds=10, transitions=3)


def holder(at: float = 100.0) -> Election:
    """Return a candidate that has taken a free Lease by a write begun at that time."""
    election = elector.after_read(Election(identity="me"), FREE, at)
    record = replace(elector.record_to_write(election, NOON), version="2")
    return elector.after_write(election, record, started_at=at, now=at + 0.5)


def follower(at: float = 100.0) -> Election:
    """Return a candidate that has just seen another one's Lease."""
    return elector.after_read(Election(identity="me"), HELD, at)


def test_nothing_is_written_before_the_record_was_read() -> None:
    """A write names the version that was read."""
    assert NextStep.READ is elector.next_step(Election(identity="me"), 0.0)


def test_a_free_lease_is_taken_at_once() -> None:
    """An empty record, as the chart renders it, or a released one, has no holder."""
    election = elector.after_read(Election(identity="me"), FREE, 100.0)

    assert NextStep.WRITE is elector.next_step(election, 100.0)
    assert ("me", 10, 1, NOON) == (
        (record := elector.record_to_write(election, NOON)).holder,
        record.duration_seconds,
        record.transitions,
        record.acquired_at,
    )


def test_a_renewal_keeps_what_the_record_says_of_its_acquisition() -> None:
    """`transitions` counts holders, not renewals."""
    later = NOON.replace(hour=13)

    record = elector.record_to_write(holder(), later)

    assert (1, NOON, later) == (record.transitions, record.acquired_at, record.renewed_at)


def test_trust_counts_from_when_the_write_was_begun() -> None:
    """A write that was long on its way gives no more time than one that was quick."""
    election = holder(100.0)

    assert 106.0 == election.trusted_until
    assert (True, False) == (election.is_leader(105.9), election.is_leader(106.0))


def test_another_ones_lease_is_left_alone_until_it_was_seen_unchanged_for_its_duration() -> (
    None
):
    """Expiry counts from the change that was seen, by the observer's own clock."""
    election = follower(100.0)

    assert NextStep.REST is elector.next_step(election, 109.9)
    assert NextStep.WRITE is elector.next_step(election, 110.0)


def test_seeing_the_same_record_again_does_not_begin_its_time_anew() -> None:
    """What has not changed has not been renewed."""
    election = elector.after_read(elector.after_rest(follower(100.0)), HELD, 109.0)

    assert 110.0 == election.expires_at


def test_a_renewal_that_was_seen_begins_its_time_anew() -> None:
    """Any change counts; the times in the record do not."""
    election = elector.after_read(follower(100.0), replace(HELD, version="6"), 109.0)

    assert 119.0 == election.expires_at


def test_a_rest_ends_when_the_lease_may_be_taken() -> None:
    """So a take-over waits for the expiry and for no other rest beyond it."""
    election = follower(100.0)

    assert 1.2 == elector.rest_seconds(election, 100.0, 1.0)
    assert 0.25 == elector.rest_seconds(election, 109.75, 0.0)


def test_a_candidate_reads_again_after_each_rest() -> None:
    """The record may have been renewed in the meantime, even when its time seems over."""
    assert NextStep.READ is elector.next_step(elector.after_rest(follower(100.0)), 111.0)


def test_a_holder_renews_without_reading() -> None:
    """One request a renewal: the version is the one that its last write was answered with."""
    assert NextStep.REST is elector.next_step(holder(), 100.5)
    assert NextStep.WRITE is elector.next_step(elector.after_rest(holder()), 101.5)


def test_a_failed_renewal_leaves_the_trust_as_it_was() -> None:
    """Its outcome is unknown, so trust neither grows nor ends."""
    assert 106.0 == elector.after_failure(holder(100.0)).trusted_until


def test_a_renewal_whose_answer_was_lost_is_found_by_reading_and_made_again() -> None:
    """The record is still ours, with a version that we do not know."""
    election = elector.after_conflict(elector.after_failure(holder(100.0)))
    assert NextStep.READ is elector.next_step(election, 103.0)
    ours = Lease(version="3", holder="me", duration_seconds=10, transitions=1)
    election = elector.after_read(election, ours, 103.0)

    assert 106.0 == election.trusted_until
    assert NextStep.WRITE is elector.next_step(election, 103.0)


def test_a_holder_that_sees_another_one_has_no_trust_left() -> None:
    """Even before its own time is over."""
    election = elector.after_read(elector.after_conflict(holder(100.0)), HELD, 103.0)

    assert election.trusted_until is None


def test_a_released_lease_has_no_holder_and_its_last_holder_no_trust() -> None:
    """The trust goes first, so that nothing is written whatever becomes of the release."""
    given = elector.release(holder(), NOON)

    assert given is not None
    assert ("", 1, "2") == (given.holder, given.duration_seconds, given.version)
    assert elector.after_release(holder()).trusted_until is None


def test_another_ones_lease_is_not_released() -> None:
    """Only the holder gives it away."""
    assert elector.release(follower(), NOON) is None
    assert elector.release(Election(identity="me"), NOON) is None


def test_a_missing_lease_is_created_once_it_was_missing_for_as_long_as_one_lasts() -> None:
    """The one that was deleted may have a holder who trusts it still."""
    election = elector.after_missing(Election(identity="me"), 100.0)
    again = elector.after_missing(elector.after_rest(election), 109.0)
    at_last = elector.after_missing(elector.after_rest(again), 110.0)

    assert NextStep.REST is elector.next_step(election, 100.0)
    assert 0.5 == elector.rest_seconds(again, 109.5, 1.0)
    assert NextStep.READ is elector.next_step(elector.after_rest(again), 110.0)
    assert NextStep.CREATE is elector.next_step(at_last, 110.0)
    record = elector.record_to_write(at_last, NOON)
    assert ("", "me", 1, NOON) == (
        record.version,
        record.holder,
        record.transitions,
        record.acquired_at,
    )


def test_a_holder_creates_its_lease_again_at_once_and_counts_on() -> None:
    """Its trust outlasts the deletion; the number of changes never comes twice."""
    election = elector.after_missing(elector.after_rest(holder(100.0)), 101.0)

    assert NextStep.CREATE is elector.next_step(election, 101.0)
    assert election.is_leader(105.9)
    assert 2 == elector.record_to_write(election, NOON).transitions
    assert NextStep.REST is elector.next_step(election, 106.0)


def test_a_failure_begins_the_wait_for_a_missing_lease_anew() -> None:
    """It may have come, been held, and gone while nothing was seen."""
    election = elector.after_missing(Election(identity="me"), 100.0)
    election = elector.after_missing(elector.after_failure(election), 109.0)

    assert 119.0 == election.expires_at


def test_somebody_leads_while_a_record_is_alive_that_another_holds() -> None:
    """So a standby has nothing to say; one that sees no record, or a dead one, has."""
    missing = elector.after_missing(Election(identity="me"), 100.0)

    assert (True, False) == (follower(100.0).is_led(109.9), follower(100.0).is_led(110.0))
    assert (True, False) == (holder(100.0).is_led(105.9), holder(100.0).is_led(106.0))
    assert not missing.is_led(100.0)
