"""A controller whose step meets a fault: what it then does not do."""

import pytest

from fairlead_autoscaler.database import Marks
from tests.support.controlling import Scene


def test_empty_pods_are_taken_away(scene: Scene) -> None:
    """What the tests below keep from happening happens by itself."""
    before, empty = scene.emptied()
    scene.step()

    assert empty
    assert before - empty == scene.replicas


def test_nothing_is_lowered_when_the_marks_could_not_be_written(scene: Scene) -> None:
    """A mark that is not renewed lapses, and its pod takes jobs again."""
    before, _ = scene.emptied()
    scene.db.execute("REVOKE UPDATE ON fairlead.pod_drains FROM fairlead_autoscaler")
    scene.step(3)
    assert before == scene.replicas
    scene.db.execute("GRANT UPDATE ON fairlead.pod_drains TO fairlead_autoscaler")
    scene.need(slots=0)
    scene.step()

    assert before > scene.replicas


def test_nothing_is_lowered_for_a_mark_that_lapsed_after_the_look(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pod has taken jobs again: that the mark is renewed does not make it empty."""
    before, _ = scene.emptied()
    mark = scene.database.mark

    def late(marks: Marks, *, epoch: int) -> frozenset[str]:
        scene.db.execute("UPDATE fairlead.pod_drains SET drain_until = now()")
        return mark(marks, epoch=epoch)

    monkeypatch.setattr(scene.database, "mark", late)
    scene.step()

    assert before == scene.replicas
