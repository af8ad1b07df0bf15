"""A worker's and a scheduler's series without the programs."""

from collections.abc import Generator
from contextlib import contextmanager

from fairlead.runtime.wakeup import Wakeup
from fairlead_worker.parent.hand_back import HandBacks
from fairlead_worker.parent.lease_thread import LeaseThread
from fairlead_worker.parent.metrics_page import MetricsPage
from fairlead_worker.settings import WorkerSettings


@contextmanager
def worker_page(
    *, metrics_kind_allowlist: str = "", metrics_wait_bounds: str = ""
) -> Generator[MetricsPage]:
    """Yield the exposition of a worker that does not run and has handed one attempt back."""
    settings = WorkerSettings(
        app="shop.jobs:tasks",
        metrics_kind_allowlist=metrics_kind_allowlist,
        metrics_wait_bounds=metrics_wait_bounds,
    )
    config, news = settings.config(), Wakeup()
    lease = LeaseThread(config, name="w", running=tuple, changed=news)
    hand_backs = HandBacks(lease)
    hand_backs.interrupted["crashed"] = 1
    yield MetricsPage(config, lease, hand_backs, tuple)
    lease.close()
    news.close()
