"""Parameters of which `make test` tries a sample, and `make test-long` the others."""

from collections.abc import Iterable

import pytest


def sampled(values: Iterable[object], *, of: int) -> list[object]:
    """Return parameters for a test: the first of each so many is of `make test`."""
    return [
        each if number % of == 0 else pytest.param(each, marks=pytest.mark.long)
        for number, each in enumerate(values)
    ]
