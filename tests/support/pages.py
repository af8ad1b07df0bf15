"""A worker's and a scheduler's series without the programs."""

from collections.abc import Generator
from contextlib import contextmanager

from fairlead.bell import Bell
from fairlead_worker.exposition import Exposition
from fairlead_worker.handback import HandBacks
from fairlead_worker.lease import LeaseThread
from fairlead_worker.settings import WorkerSettings


@contextmanager
def worker_page(
    *, metrics_kind_allowlist: str = "", metrics_wait_bounds: str = ""
) -> Generator[Exposition]:
    """Yield the exposition of a worker that does not run and has handed one attempt back."""
    settings = WorkerSettings(
        app="shop.jobs:tasks",
        metrics_kind_allowlist=metrics_kind_allowlist,
        metrics_wait_bounds=metrics_wait_bounds,
    )
    orders, news = settings.orders(), Bell()
    lease = LeaseThread(orders, name="w", running=tuple, news=news)
    handbacks = HandBacks(lease)
    handbacks.interrupted["crashed"] = 1
    yield Exposition(orders, lease, handbacks, tuple)
    lease.close()
    news.close()
