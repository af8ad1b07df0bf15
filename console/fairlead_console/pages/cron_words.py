"""A cron expression in words."""

from datetime import datetime

from cronsim import CronSim, CronSimError


def of(expression: str) -> str:
    """Say when an expression fires; empty: it has no words."""
    try:
        said: str = CronSim(expression, datetime(2000, 1, 1)).explain()  # noqa: DTZ001 - of no zone
    except (CronSimError, ValueError, AssertionError):
        return ""
    return said
