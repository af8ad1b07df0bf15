"""A child keeps its gate for a suspect job until that is in quarantine no longer."""

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.interruptions import Died
from tests.unit.worker.parent.test_quarantine import Scenario


def left(scenario: Scenario) -> list[int]:
    """Return the jobs for which the sender keeps no gate any more."""
    sent = scenario.sender.sent
    return [each.job_id for each in sent if isinstance(each, messages.SuspectEnded)]


def test_the_sender_hears_of_a_gated_job_that_is_here_no_longer() -> None:
    """Ended, died, put off or withdrawn: its gate is open again; of others it hears nothing."""
    scenario = Scenario((), processes=1)
    scenario.take([1])
    scenario.take([2, 3, 4], gated=True)
    scenario.ready()
    scenario.ended(1)
    assert [] == left(scenario)

    scenario.ended(2)
    assert [2] == left(scenario)
    scenario.die((), Died(-9))
    assert [2, 3] == left(scenario)
    scenario.quarantine.give_up()

    assert [2, 3, 4] == left(scenario)


def test_a_gated_job_that_needs_a_fresh_process_stays_inside_its_gate() -> None:
    """It has not ended."""
    scenario = Scenario(())
    scenario.take([1], gated=True)
    scenario.ready()

    scenario.quarantine.declined(messages.SuspectDeclined(1, 101), 0.0)
    scenario.quarantine.advance(0.0)

    assert [] == left(scenario)
