"""The client library that the controller rests on."""

import os

import kubernetes
import pytest

MAJOR = os.environ.get("FAIRLEAD_TEST_KUBERNETES")


@pytest.mark.skipif(
    MAJOR is None, reason="any major will do: `make test-kubernetes` tries both"
)
def test_the_client_is_of_the_major_that_was_asked_for() -> None:
    """Both majors are tried, and not one of them twice."""
    assert MAJOR == kubernetes.__version__.split(".")[0]
