"""The log says who has late fires, in as many lines as a person reads."""

from fairlead_scheduler.cron.late_fires import TENANTS_MAX, LateFires, LateLine


def test_a_tenants_schedules_are_one_line() -> None:
    """Its schedules are counted, and one of them is named."""
    late = LateFires()
    for number in range(10_000):
        late.record("flood", f"schedule {number}", 2)
    late.record("flood", "schedule 0", 3)

    assert [LateLine("flood", "schedule 0", 10_000, 20_003)] == list(late.take())
    assert [] == list(late.take())


def test_the_tenants_with_the_most_are_named_and_the_others_are_counted() -> None:
    """Names without end make no more lines."""
    late = LateFires()
    for number in range(1000):
        late.record(f"tenant {number}", "nightly", 1 + (number >= 1000 - TENANTS_MAX))

    lines = list(late.take())

    named = {f"tenant {number}" for number in range(1000 - TENANTS_MAX, 1000)}
    assert named == {line.tenant for line in lines[:-1]}
    rest = 1000 - TENANTS_MAX
    assert LateLine(None, "nightly", rest, rest) == lines[-1]
