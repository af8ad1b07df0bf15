"""Which jobs in quarantine have slots lent for them, beside those of `test_quarantine`."""

from fairlead_worker.ipc import messages
from tests.unit.worker.parent.test_quarantine import Scenario


def test_what_does_not_stop_gives_its_slot_back() -> None:
    """Until its process is killed for it others run there, and the next one lends its own."""
    scenario = Scenario([1])
    child = scenario.ready()
    before = scenario.lent()

    child.slotless = 1
    scenario.quarantine.advance(1.0)

    assert (1, 0, 1) == (before, scenario.lent(), scenario.quarantine.slotless)
    assert [messages.SlotReturned(1, 101)] == scenario.sender.sent


def test_what_waits_beyond_the_capacity_keeps_its_slots() -> None:
    """Where processes die faster than suspect jobs are run, fewer jobs are claimed."""
    scenario = Scenario(range(1, 11), processes=2, waiting_without_slots=3)

    scenario.ready()

    assert (3, 2 + 5) == (scenario.quarantine.slotless, scenario.lent())
