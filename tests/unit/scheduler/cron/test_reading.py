"""What is read of each login's schedules: so many and no more, page by page."""

from fairlead_scheduler.cron.reading import Place, Reading, ScheduleRow
from fairlead_scheduler.cron.timetable import Schedule


def row(login: str, tenant: str, name: str, *, enabled: bool = True) -> ScheduleRow:
    """Return a row that the table has."""
    made = Schedule(tenant, name, "* * * * *", "UTC", "skip", 0, "q", by_admin=False)
    return ScheduleRow(0, login, enabled, made)


def place(of: ScheduleRow) -> Place:
    """Return where it is in the order."""
    return Place(of.login, of.schedule.tenant, of.schedule.name)


def read(
    table: list[ScheduleRow], reading: Reading, page: int
) -> tuple[list[str], list[str], int]:
    """Read all; return the names of what fires, of what has said that it does not, and rows."""
    kept: list[str] = []
    beyond: list[str] = []
    rows = 0
    while True:
        found = [each for each in table if place(each) > reading.after][:page]
        rows += len(found)
        fire, too_many = reading.take(found)
        kept += [each.name for each in fire]
        beyond += [each.schedule.name for each in too_many]
        if len(found) < page:
            return kept, beyond, rows


def test_each_login_has_its_number_and_each_of_its_tenants_a_smaller_one() -> None:
    """However the pages fall, and whatever another login has for the same tenant."""
    table = sorted(
        [row("a", tenant, f"a{tenant}{i}") for tenant in "tuv" for i in range(4)]
        + [row("b", "t", f"bt{i}") for i in range(2)],
        key=place,
    )
    for page in range(1, 16):
        kept, beyond, _ = read(table, Reading(2, 5), page)

        assert ["at0", "at1", "au0", "au1", "av0", "bt0", "bt1"] == kept
        assert ["at2", "au2", "av1"] == beyond


def test_disabled_ones_count_and_do_not_fire() -> None:
    """Or a login could have any number of them."""
    table = [row("a", "t", f"{i}", enabled=i != 1) for i in range(4)]

    assert (["0", "2"], ["3"], 4) == read(table, Reading(3, 9), 9)


def test_what_is_beyond_a_number_is_not_read() -> None:
    """A login with a million costs as much as one with as many as are read, and a page."""
    table = sorted(
        [row("a", "t", f"{i:04}") for i in range(1000)]
        + [row("b", f"{i:04}", "x") for i in range(1000)]
        + [row("c", "t", "x")],
        key=place,
    )
    kept, _, rows = read(table, Reading(20, 30), 10)

    assert [*(f"{i:04}" for i in range(20)), *["x"] * 30, "x"] == kept
    assert rows <= 20 + 10 + 30 + 10 + 1
