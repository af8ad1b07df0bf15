"""Each variant that is broken on purpose is found."""

import pytest

from tests.simulation.seeds import hunt, simulate
from tests.simulation.variants import VARIANTS, Variant
from tests.support.sampled import sampled

HUNTED_MAX = 400


def named(variant: Variant) -> str:
    """Return what a variant is called."""
    return variant.name


@pytest.mark.parametrize("variant", sampled(VARIANTS, of=4), ids=named)
def test_a_seed_that_is_known_finds_the_variant(variant: Variant) -> None:
    """One seed is enough for each, and breaks no promise without it."""
    found = hunt(variant, 1, start=variant.seed)
    without = simulate(variant.part, variant.seed)

    assert (True, "") == (found is not None, without.broken)


@pytest.mark.proof
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("variant", VARIANTS, ids=named)
def test_a_few_hundred_seeds_find_the_variant(variant: Variant) -> None:
    """No seed is chosen for it."""
    assert hunt(variant, HUNTED_MAX) is not None
