"""The model keeps its promises, and each of its guards is one that a promise needs."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.model import maude
from tests.model.exploring import explore
from tests.model.scenes import TRUE, Scene, Variant
from tests.model.variants import VARIANTS
from tests.support import tree

pytestmark = pytest.mark.skipif(not maude.is_here(), reason=maude.MISSING)
SAMPLE = [scene for scene in TRUE if scene.is_sample]
_PROOF = (pytest.mark.proof, pytest.mark.timeout(1200))


def _some(variant: Variant) -> object:
    return pytest.param(variant, id=variant.name, marks=_PROOF if variant.is_long else ())


@pytest.mark.parametrize("scene", SAMPLE, ids=str)
def test_no_promise_is_broken_in_a_sample(scene: Scene) -> None:
    """Whatever happens in a small scene, nothing breaks, and all jobs can end."""
    found = explore(scene)

    assert not found.breaks, found
    assert found.states > 1000


@pytest.mark.parametrize("variant", [_some(each) for each in VARIANTS])
def test_a_guard_that_is_left_out_breaks_a_promise(variant: Variant) -> None:
    """Each variant has a path to the state that it is known for."""
    found = explore(variant.scene, variant)

    assert variant.breaks == found.breaks, found
    assert found.path


def test_every_variant_of_the_model_is_run() -> None:
    """A guard that the model opens for a variant is in the list, and so is no other."""
    text = "".join(tree.text(path) for path in tree.files(".maude"))
    opened = set(re.findall(r"broken\('([\w-]+)\)", text)) - {"name"}

    assert opened == {each.name for each in VARIANTS if each.margin}


def test_every_variant_is_of_a_scene_in_which_the_true_model_breaks_nothing() -> None:
    """With the same misfortunes, or some more."""
    scenes = [(each.name, Counter(each.permits)) for each in TRUE]

    assert [] == [
        each.name
        for each in VARIANTS
        if not any(
            each.scene.name == name and Counter(each.scene.permits) <= permits
            for name, permits in scenes
        )
    ]


def test_every_variant_says_where_its_guard_is_decided() -> None:
    """The page exists."""
    assert all((tree.ROOT / Path(each.source)).is_file() for each in VARIANTS)
