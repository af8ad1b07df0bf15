"""What a job is expected to take."""

from fairlead_scheduler.ordering.run_time import MeanRunTime, prior_us


def mean(*runs_us: int, window: int = 200) -> MeanRunTime:
    """Return the mean of these runs."""
    made = MeanRunTime()
    for run_us in runs_us:
        made.add(run_us, 1, window)
    return made


def test_a_lane_that_nothing_is_known_of_has_the_prior() -> None:
    """(n0 prior + sum)/(n0 + n) with n = 0."""
    assert 500 == mean().shrunk_us(500, 4)


def test_the_prior_fades_with_the_samples() -> None:
    """(n0 prior + sum)/(n0 + n)."""
    lanes = (mean(100), mean(100, 100, 100, 100), mean(*[100] * 36))

    assert [420, 300, 140] == [lane.shrunk_us(500, 4) for lane in lanes]


def test_the_prior_is_twice_the_queues_mean() -> None:
    """Cautious: a tenant of long jobs must not flood all slots before it is known."""
    assert (100_000, 500) == (prior_us(mean(), 100_000), prior_us(mean(200, 300), 100_000))


def test_only_the_window_is_remembered() -> None:
    """The mean of a tenant whose jobs change follows after a window's worth of them."""
    changed = mean(*[1000] * 500, *[100] * 1000)

    assert 100 <= changed.value_us(0) <= 110


def test_samples_may_come_together() -> None:
    """A batch counts like its runs one by one."""
    one_by_one, together = mean(*[100] * 300, *[900] * 50), mean(*[100] * 300)
    together.add(50 * 900, 50, 200)

    assert abs(one_by_one.value_us(0) - together.value_us(0)) <= 30


def test_a_batch_larger_than_the_window_replaces_it() -> None:
    """What is older than the window is forgotten."""
    made = mean(*[100] * 300)
    made.add(1000 * 700, 1000, 200)

    assert 700 == made.value_us(0)


def test_an_estimate_is_never_zero() -> None:
    """Every dispatch moves the lane's tag."""
    assert (1, 1) == (mean(0, 0).shrunk_us(0, 4), mean(0).value_us(5))
