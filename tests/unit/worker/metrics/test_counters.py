"""A child counts by queue and kind, within bounds, and sends what grew."""

from fairlead_worker.ipc import messages
from fairlead_worker.metrics import series
from fairlead_worker.metrics.counters import Counters
from fairlead_worker.metrics.series import KINDS_MAX, OTHER, PAIRS_MAX, QUEUES_MAX


def test_what_grew_is_sent_once() -> None:
    """Taking returns what was counted since the last time, and None when nothing was."""
    counters = Counters()
    counters.count(series.CLAIM_EMPTY)
    counters.count(series.CLAIM_EMPTY)
    counters.observe(series.CLAIM_BATCH, 500)
    counters.observe(series.CLAIM_BATCH, 501)

    growth = counters.take()

    bounds = series.CLAIM_BATCH.bounds
    spread = messages.HistogramGrowth(
        "claim_batch_size", (), (*[0] * (len(bounds) - 1), 1, 1), 1001.0
    )
    assert (
        messages.MetricsGrowth((messages.CounterGrowth("claim_empty_total", (), 2),), (spread,))
        == growth
    )
    assert counters.take() is None


def test_jobs_are_counted_by_queue_and_kind() -> None:
    """One look-up per job finds everything that is counted of its kind."""
    counters = Counters()
    with counters.lock:
        kind = counters.kind("mail", "send")
        kind.started += 1
        kind.wait.observe(0.01)
        kind.ended["succeeded"] = kind.finished["succeeded"] = 1

    growth = counters.take()

    assert growth is not None
    assert {
        ("jobs_started_total", ("mail", "send"), 1),
        ("jobs_finished_total", ("mail", "send", "succeeded"), 1),
        ("attempts_ended_total", ("mail", "send", "succeeded"), 1),
    } == {(each.series, each.labels, each.by) for each in growth.counters}
    assert [("job_wait_seconds", 1, 0.01)] == [
        (each.series, each.buckets[0], each.sum) for each in growth.histograms
    ]


def test_series_stay_few_however_many_queues_and_kinds_there_are() -> None:
    """What comes after too many is counted as `other`, and that it was is counted."""
    counters = Counters()
    with counters.lock:
        for number in range(1000):
            counters.kind(f"queue {number}", f"kind {number}").started += 1

    growth = counters.take()

    assert growth is not None
    started = [each for each in growth.counters if each.series == "jobs_started_total"]
    assert QUEUES_MAX + 1 == len({each.labels[0] for each in started})
    assert KINDS_MAX + 1 == len({each.labels[1] for each in started})
    assert 1000 == sum(each.by for each in started)
    assert (OTHER, OTHER) in {each.labels for each in started}
    dropped = [each.by for each in growth.counters if each.series == "series_dropped_total"]
    assert [950] == dropped


def test_pairs_of_queues_and_kinds_stay_few() -> None:
    """Many queues that run the same many kinds still get labels by queue."""
    counters = Counters()
    with counters.lock:
        for number in range(50 * 40):
            counters.kind(f"queue {number % 50}", f"kind {number // 50}").started += 1

    growth = counters.take()

    assert growth is not None
    started = [each for each in growth.counters if each.series == "jobs_started_total"]
    assert PAIRS_MAX + 50 == len(started)
    assert 2000 == sum(each.by for each in started)
    assert {25} == {each.by for each in started if each.labels[1] == OTHER}


def test_waits_have_the_bounds_that_were_asked_for_beside_their_own() -> None:
    """What is exactly at a bound counts in its bucket, as Prometheus has it."""
    counters = Counters([7.0, 30.0])
    with counters.lock:
        kind = counters.kind("mail", "send")
        for waited in (5.5, 7.0, 7.5, 30.0):
            kind.wait.observe(waited)
        kind.run.observe(7.0)

    growth = counters.take()

    assert growth is not None
    waits, runs = growth.histograms
    bounds = series.bounds(series.JOB_WAIT, [7.0, 30.0])
    counted = {
        bound: count for bound, count in zip(bounds, waits.buckets, strict=False) if count
    }
    assert {7.0: 2, 10: 1, 30: 1} == counted
    assert len(bounds) + 1 == len(waits.buckets)
    assert len(series.JOB_RUN.bounds) + 1 == len(runs.buckets)
