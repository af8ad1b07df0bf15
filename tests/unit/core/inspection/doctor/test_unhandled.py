"""What the doctor says of kinds that no worker has a handler for."""

import pytest

from fairlead.inspection.doctor import fleet
from fairlead.inspection.doctor.facts import Unhandled


@pytest.mark.parametrize(
    ("kind", "jobs", "what", "word"),
    [
        ("resise", 3, "3 jobs of kind resise wait for a worker with", "resise"),
        ("it's", 1, "1 job of kind 'it'\\''s' waits for", "'it'\\''s'"),
    ],
)
def test_a_kind_without_a_handler_is_named_with_its_jobs(
    kind: str, jobs: int, what: str, word: str
) -> None:
    """As something that stands still, with the commands that list and that cancel them."""
    (found,) = fleet.unhandled([Unhandled(kind, jobs)])

    assert ("stops", "kind") == (found.harm, found.subject)
    assert what in found.what
    assert f"--kind {word} --state" in found.fix[0].text
    assert f"fairlead jobs cancel --kind {word} " in found.fix[1].text
    assert () == tuple(fleet.unhandled(()))
