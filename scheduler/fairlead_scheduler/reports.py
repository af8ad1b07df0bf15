"""Publishing the fairness report: one row for each pool, which anybody who may can read.

The row of a pool that is reported on no more is deleted, whichever leader wrote it.
"""

from math import inf

from fairlead import sql
from fairlead.store import Connection
from fairlead_scheduler.calls import Requests, drain
from fairlead_scheduler.chores import Chore

_PACKAGE = __package__ or ""


class Reports:
    """Publishes the reports of one term over one session."""

    def __init__(self, connection: Connection, *, epoch: int, requests: Requests) -> None:
        self._connection = connection
        self._epoch = epoch
        self._requests = requests
        self._pools: frozenset[str] = frozenset()
        self._ends_others = False

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do; the loop says when."""
        return (Chore("report", inf, self.publish, at_once=False),)

    def publish(self) -> bool:
        """Write each pool's newest report over the one before it; nothing when deposed.

        One that cannot be written is not tried again: the next one is newer. Those on other
        pools are deleted, once after each change of pools; that is tried again with the next
        report.
        """
        for pools in drain(self._requests.pools):
            self._pools, self._ends_others = pools, True
        if self._ends_others:
            values = {"epoch": self._epoch, "pools": sorted(self._pools)}
            self._connection.execute(sql.load(_PACKAGE, "end_reports"), values)
            self._ends_others = False
        newest = dict(drain(self._requests.reports))
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
            self._connection.execute(sql.load(_PACKAGE, "report"), values)
        return False
