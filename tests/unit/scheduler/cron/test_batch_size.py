"""How much one statement fires, by how long the last ones took."""

from fairlead_scheduler.cron.batch_size import BatchSize


def test_what_took_too_long_is_halved_down_to_one() -> None:
    """By what there was of it: a small one that is cancelled allows no larger one."""
    size = BatchSize(500)

    size.cancelled(100)
    assert 50 == size.fires
    for _ in range(10):
        size.cancelled(size.fires)
    assert 1 == size.fires


def test_quick_ones_let_it_grow_again_up_to_the_most() -> None:
    """A slow one leaves it as it is: what made it slow may be there for one fire as well."""
    size = BatchSize(500)
    size.cancelled(8)

    size.took(2.0)
    assert 4 == size.fires
    size.took(0.01)
    assert 8 == size.fires
    for _ in range(10):
        size.took(0.01)
    assert 500 == size.fires
