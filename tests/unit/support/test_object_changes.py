"""What is made of a watch's lines."""

import io
import json

import pytest

from tests.support.chart import Object
from tests.support.object_changes import ObjectChange, Record, read


def added(name: str, version: int) -> str:
    """Return a watch's line with a pod."""
    metadata = {"name": name, "uid": name, "resourceVersion": str(version)}
    return json.dumps({"type": "ADDED", "object": {"kind": "Pod", "metadata": metadata}}) + "\n"


def ended(code: int) -> str:
    """Return a watch's last line, with the reason's code."""
    return json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": code}}) + "\n"


@pytest.mark.parametrize(
    ("lines", "names", "goes_on_after"),
    [
        ("", [], 5),
        (added("a", 7), ["a"], 7),
        # A watch begins with all that there is, in no order of versions.
        (added("a", 9) + added("b", 8), ["a", "b"], 9),
        (added("a", 7) + added("b", 8)[:40], ["a"], 7),
        (added("a", 7) + ended(504), ["a"], 7),
        (added("a", 7) + ended(410), ["a"], 0),
    ],
)
def test_a_watch_goes_on_after_the_last_version_that_it_showed(
    lines: str, names: list[str], goes_on_after: int
) -> None:
    """Half a line is no change; what followed a version that is forgotten is not known."""
    seen: list[ObjectChange] = []

    assert goes_on_after == read(io.StringIO(lines), seen.append, 5)
    assert names == [each.name for each in seen]


def pod(*, ready: bool, going: bool = False) -> ObjectChange:
    """Return how a worker's pod was seen."""
    shown: Object = {
        "metadata": {
            "labels": {"app.kubernetes.io/component": "worker"},
            "deletionTimestamp": "now" if going else None,
        },
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }
    return ObjectChange(at=0.0, kind="Pod", name="a", uid="1", object=shown)


@pytest.mark.parametrize(
    ("seen", "went", "taken"),
    [
        ((pod(ready=True), pod(ready=True, going=True)), 1, ["a"]),
        ((pod(ready=True), pod(ready=False, going=True)), 1, ["a"]),
        ((pod(ready=True), pod(ready=False), pod(ready=False, going=True)), 1, []),
        # It never served: one that was still starting.
        ((pod(ready=False), pod(ready=False, going=True)), 0, []),
        ((pod(ready=True), pod(ready=False)), 0, []),
    ],
)
def test_a_pod_that_goes_must_have_said_before_that_it_is_not_ready(
    seen: tuple[ObjectChange, ...], went: int, taken: list[str]
) -> None:
    """What counts is how it was before it was asked to stop."""
    record = Record(changes=list(seen))

    assert went == len(record.served_before_termination())
    assert taken == record.terminated_while_ready()


def test_a_record_with_a_gap_says_nothing_of_who_went() -> None:
    """A pod may have gone in it."""
    with pytest.raises(AssertionError):
        Record(gaps=["pods"]).terminated_while_ready()
