"""The parent's page adds up what its children have counted."""

from collections.abc import Iterator

import pytest
from prometheus_client import generate_latest

from fairlead_worker.ipc.messages import CounterGrowth, HistogramGrowth, MetricsGrowth
from fairlead_worker.metrics import counters, series
from fairlead_worker.parent.metrics_page import MetricsPage
from tests.support.pages import worker_page

LABELS = ("default", "mail")


@pytest.fixture
def metrics_page() -> Iterator[MetricsPage]:
    """Yield the exposition of a worker that has not started."""
    with worker_page() as page:
        yield page


def shown(metrics_page: MetricsPage) -> list[str]:
    """Return the lines of the page."""
    return generate_latest(metrics_page.registry).decode().splitlines()


def grown(by: int, buckets: tuple[int, ...], total: float) -> MetricsGrowth:
    """Return what a child has counted of one kind."""
    return MetricsGrowth(
        counters=(CounterGrowth("jobs_started_total", LABELS, by),),
        histograms=(HistogramGrowth("job_wait_seconds", LABELS, buckets, total),),
    )


def test_what_several_children_count_is_added_up(metrics_page: MetricsPage) -> None:
    """Counters and histograms grow by what any child sends; a dead child's share stays."""
    width = len(series.JOB_WAIT.bounds) + 1
    first = (1, 1, *(0,) * (width - 2))
    second = (*(0,) * (width - 1), 2)

    metrics_page.add(grown(2, first, 0.05))
    metrics_page.add(grown(3, second, 9000.0))

    page = shown(metrics_page)
    labels = 'kind="mail",queue="default"'
    assert f"fairlead_jobs_started_total{{{labels}}} 5.0" in page
    buckets = [line for line in page if line.startswith("fairlead_job_wait_seconds_bucket")]
    assert [1, 2, 2, 4] == [
        float(buckets[place].rpartition(" ")[2]) for place in (0, 1, width - 2, width - 1)
    ]
    assert f"fairlead_job_wait_seconds_sum{{{labels}}} 9000.05" in page


def test_every_series_that_children_count_is_known(metrics_page: MetricsPage) -> None:
    """Each series without labels stands on the page from the start, at zero."""
    page = shown(metrics_page)
    missing = [
        each.name
        for each in series.OF_CHILDREN
        if each.type == "counter" and not each.labels and f"{each.full_name} 0.0" not in page
    ]

    assert [] == missing


def test_waits_are_shown_by_the_bounds_that_were_asked_for() -> None:
    """How many jobs met the pool's objective stands on the page, and is not guessed."""
    waited = counters.Counters([7.0])
    with waited.lock:
        waited.kind(*LABELS).wait.observe(6.0)
    growth = waited.take()
    assert growth is not None
    with worker_page(metrics_wait_bounds="7s") as page:
        page.add(growth)
        lines = shown(page)

    labels = 'kind="mail",le="{}",queue="default"'
    assert [0.0, 1.0, 1.0] == [
        float(line.rpartition(" ")[2])
        for bound in ("5.0", "7.0", "10.0")
        for line in lines
        if line.startswith(f"fairlead_job_wait_seconds_bucket{{{labels.format(bound)}}}")
    ]


def test_no_two_series_share_a_name(metrics_page: MetricsPage) -> None:
    """The page can be read by a scraper: each family is described once."""
    families = [line.split()[2] for line in shown(metrics_page) if line.startswith("# TYPE")]

    assert len(families) == len({*families})
