"""How old a transaction id is, by samples of when ids were new."""

import pytest

from fairlead_scheduler.background.xid_age import XidAge

SAMPLES = ((100, 10.0), (150, 20.0), (150, 30.0), (400, 40.0))
"""The next id, and when it was the next one."""


@pytest.mark.parametrize(
    ("transactions", "expected"),
    [
        pytest.param(0, 0.0, id="it is the next one still"),
        pytest.param(1, 10.0, id="given out since the sample before the last"),
        pytest.param(250, 10.0, id="it was the next one for two samples: the later counts"),
        pytest.param(251, 30.0, id="the one before it"),
        pytest.param(300, 30.0, id="as old as the first sample"),
        pytest.param(1000, 30.0, id="older than all samples, and at least as old as the first"),
    ],
)
def test_an_id_is_as_old_as_the_last_sample_at_which_it_was_new(
    transactions: int, expected: float
) -> None:
    """To the time between two samples."""
    horizon = XidAge()
    for sample in SAMPLES:
        horizon.sample(*sample)

    assert expected == horizon.age_seconds(transactions)


def test_few_samples_are_kept() -> None:
    """What is older than all that are kept is as old as the first of them."""
    horizon = XidAge(samples_max=2)
    for sample in SAMPLES:
        horizon.sample(*sample)

    assert 10.0 == horizon.age_seconds(399)
