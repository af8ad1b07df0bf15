"""Which schedules are read: a number of each login's, and fewer of each of its tenants.

All are read again and again, page by page in the order of the logins that made them. What one
login has beyond its number is passed over, so that it neither fills the leader's memory nor
keeps it from reading what others have made.
"""

from collections.abc import Sequence
from typing import NamedTuple

from fairlead_scheduler.cron.timetable import Key, Schedule

_NEXT = "\x01"
"""What is added to a text is the next one in the order of bytes: none has a zero byte."""


class Place(NamedTuple):
    """A place in the order in which schedules are read; a page begins behind it."""

    login: str = ""
    tenant: str = ""
    name: str = ""


class ScheduleRow(NamedTuple):
    """A schedule as it is read."""

    now_us: int
    login: str
    """Who made it; empty: it is older than the column."""
    enabled: bool
    schedule: Schedule


class Beyond(NamedTuple):
    """The first schedule of many that are not read."""

    schedule: Schedule
    why: str


class Reading:
    """One pass over all schedules, page by page.

    Args:
        of_tenant: how many are read that one login made for one tenant; disabled ones count.
        of_login: how many are read that one login made.
    """

    def __init__(self, of_tenant: int, of_login: int) -> None:
        self._of_tenant = of_tenant
        self._of_login = of_login
        self._last = Place()
        """Of what is counted below."""
        self._in_tenant = self._in_login = 0
        self._full_login: str | None = None
        self._full_tenant: tuple[str, str] | None = None
        """A login and tenant."""
        self.after = Place()
        """Behind which the next page begins."""
        self.seen: set[Key] = set()
        """The schedules that fire, as far as they have been read."""
        self.said: set[Key] = set()
        """Those beyond a number that have said so."""

    def take(self, page: Sequence[ScheduleRow]) -> tuple[list[Schedule], list[Beyond]]:
        """Take a page; return what fires of it, and the first ones beyond a number."""
        kept: list[Schedule] = []
        beyond: list[Beyond] = []
        for row in page:
            place = Place(row.login, row.schedule.tenant, row.schedule.name)
            if place.login == self._full_login or place[:2] == self._full_tenant:
                continue
            self._count(place)
            self.after, why = self._judge(place)
            if why:
                beyond.append(Beyond(row.schedule, why))
            elif row.enabled:
                kept.append(row.schedule)
        self.seen.update(each.key for each in kept)
        return kept, beyond

    def _count(self, place: Place) -> None:
        """Begin to count anew where a login's schedules begin, or a tenant's."""
        if place.login != self._last.login:
            self._in_login = self._in_tenant = 0
        elif place.tenant != self._last.tenant:
            self._in_tenant = 0
        self._last = place

    def _judge(self, place: Place) -> tuple[Place, str]:
        """Return where to read on, and why the schedule is not read, if it is not."""
        if self._in_login == self._of_login:
            self._full_login = place.login
            return Place(place.login + _NEXT), (
                f"its login has made more than {self._of_login} schedules: those from this one "
                "on, by tenant and name, do not fire. Remove some, or raise "
                "FAIRLEAD_LOGIN_SCHEDULES_MAX"
            )
        if self._in_tenant == self._of_tenant:
            self._full_tenant = place[:2]
            return Place(place.login, place.tenant + _NEXT), (
                f"its tenant has more than {self._of_tenant} schedules of its login: those "
                "from this one on, by name, do not fire. Remove some, or raise "
                "FAIRLEAD_SCHEDULES_MAX"
            )
        self._in_login += 1
        self._in_tenant += 1
        return place, ""
