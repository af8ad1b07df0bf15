"""Amounts as Kubernetes writes them: `1500m` CPUs, `2Gi` of memory, `1k` pods."""

from decimal import Decimal, InvalidOperation
from math import ceil

_THOUSANDTHS = 1000
_SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{name: Decimal(10) ** (3 * place) for place, name in enumerate("kMGTPE", start=1)},
    **{f"{name}i": Decimal(2) ** (10 * place) for place, name in enumerate("KMGTPE", start=1)},
}
_LARGEST = Decimal(2) ** 63


def thousandths(quantity: str) -> int | None:
    """Return an amount in thousandths, rounded up; None: it is none."""
    digits = quantity.rstrip("numkKMGTPEi")
    factor = _SUFFIXES.get(quantity[len(digits) :])
    try:
        amount = Decimal(digits)
    except InvalidOperation:
        return None
    if factor is None or not amount.is_finite() or abs(amount) * factor > _LARGEST:
        return None
    return ceil(amount * factor * _THOUSANDTHS)
