"""Amounts as Kubernetes writes them."""

import pytest

from fairlead_autoscaler.kube.quantities import thousandths


@pytest.mark.parametrize(
    ("quantity", "expected"),
    [
        ("0", 0),
        ("7", 7000),
        ("1.5", 1500),
        ("1500m", 1500),
        ("100u", 1),
        ("1k", 1_000_000),
        ("2M", 2_000_000_000),
        ("1Ki", 1_024_000),
        ("2Gi", 2 * 2**30 * 1000),
        ("1e3", 1_000_000),
        ("-1", -1000),
        ("1kk", None),
        ("1kB", None),
        ("", None),
        ("Gi", None),
        ("many", None),
        ("1e999", None),
        ("inf", None),
    ],
)
def test_an_amount_is_read_in_thousandths(quantity: str, expected: int | None) -> None:
    """Rounded up, as the API server rounds what is less than it keeps."""
    assert expected == thousandths(quantity)
