"""Publishing the fairness report: one row for each pool, which anybody who may can read."""

from math import inf
from queue import SimpleQueue

from fairlead import sql
from fairlead.store import Connection
from fairlead_scheduler.calls import drain
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.report import Report

_PACKAGE = __package__ or ""


class Reports:
    """Publishes the reports of one term over one session."""

    def __init__(
        self,
        connection: Connection,
        *,
        epoch: int,
        reports: SimpleQueue[tuple[str, Report]],
    ) -> None:
        self._connection = connection
        self._epoch = epoch
        self._reports = reports

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do; the loop says when."""
        return (Chore("report", inf, self.publish, at_once=False),)

    def publish(self) -> bool:
        """Write each pool's newest report over the one before it; nothing when deposed.

        One that cannot be written is not tried again: the next one is newer.
        """
        for pool, report in dict(drain(self._reports)).items():
            values = {
                "pool": pool,
                "epoch": self._epoch,
                "since_us": report.since_us,
                "at_us": report.at_us,
                "report": report.text(),
            }
            self._connection.execute(sql.load(_PACKAGE, "report"), values)
        return False
