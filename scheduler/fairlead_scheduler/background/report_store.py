"""Publish the fairness reports, one row per pool.

The row of a pool that is no longer reported on is deleted, whichever leader wrote it.
"""

from math import inf

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.requests import Requests, take_all

_PACKAGE = __package__ or ""


class ReportStore:
    """Publishes the reports of one term over one session."""

    def __init__(self, connection: Connection, *, epoch: int, requests: Requests) -> None:
        self._connection = connection
        self._epoch = epoch
        self._requests = requests
        self._pools: frozenset[str] = frozenset()
        self._ends_others = False

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the task; the loop requests when to run it."""
        return (PeriodicTask("report", inf, self.publish, at_once=False),)

    def publish(self) -> bool:
        """Replace each pool's report by its newest; does nothing when deposed.

        A failed write is not retried: the next report is newer. Reports on other pools are
        deleted once after each change of pools, which is retried with the next report.
        """
        for pools in take_all(self._requests.report_pools):
            self._pools, self._ends_others = pools, True
        if self._ends_others:
            values = {"epoch": self._epoch, "pools": sorted(self._pools)}
            self._connection.execute(statements.load(_PACKAGE, "delete_reports"), values)
            self._ends_others = False
        newest = dict(take_all(self._requests.reports))
        for pool, report in newest.items():
            if pool not in self._pools:
                continue
            values = {
                "pool": pool,
                "epoch": self._epoch,
                "since_us": report.since_us,
                "at_us": report.at_us,
                "report": report.text(),
            }
            self._connection.execute(statements.load(_PACKAGE, "publish_report"), values)
        return False
