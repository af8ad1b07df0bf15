"""What the doctor says of kinds that no worker has a handler for."""

import pytest

from fairlead.inspection.doctor import fleet
from fairlead.inspection.doctor.facts import Unhandled


@pytest.mark.parametrize(
    ("kind", "jobs", "what", "command"),
    [
        ("resise", 3, "3 jobs of kind resise wait for a worker with", "--kind resise --state"),
        ("it's", 1, "1 job of kind 'it'\\''s' waits for", "--kind 'it'\\''s' --state"),
    ],
)
def test_a_kind_without_a_handler_is_named_with_its_jobs(
    kind: str, jobs: int, what: str, command: str
) -> None:
    """As something that stands still, with the command that lists them."""
    (found,) = fleet.unhandled([Unhandled(kind, jobs)])

    assert ("stops", "kind") == (found.harm, found.subject)
    assert what in found.what
    assert command in found.fix[0].text
    assert () == tuple(fleet.unhandled(()))
