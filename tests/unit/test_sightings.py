"""What is made of a watch's lines."""

import io

from tests.support.sightings import Sight, read

POD = '{"type": "ADDED", "object": {"kind": "Pod", "metadata": {"name": "a", "uid": "1"}}}\n'
END = '{"type": "ERROR", "object": {"status": "Failure", "code": 410}}\n'


def test_an_error_and_half_a_line_are_no_sights() -> None:
    """A watch that ends with an error has shown what it showed, and nothing more."""
    seen: list[Sight] = []

    read(io.StringIO(POD + END + POD[:40]), seen.append)

    assert ["a"] == [each.name for each in seen]
