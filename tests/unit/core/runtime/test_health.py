"""A service's pages say that it lives, whether it is ready, and what it measures."""

import socket
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest
from prometheus_client import CollectorRegistry

from fairlead.metrics.registry import new_registry
from fairlead.runtime.health import CannotListen, Health


class Readiness:
    """What a test says when it is asked."""

    def __init__(self) -> None:
        self.ready = False

    def __call__(self) -> bool:
        """Answer as the test wishes."""
        return self.ready


@pytest.fixture
def readiness() -> Readiness:
    """Return a readiness that starts as not ready."""
    return Readiness()


@pytest.fixture
def health(readiness: Readiness) -> Iterator[Health]:
    """Yield pages that are served on a free port of loopback."""
    registry = new_registry("tests")
    with Health(ready=readiness, registry=registry, port=0, host="127.0.0.1") as served:
        yield served


def get(health: Health, path: str, method: str = "GET") -> tuple[int, str]:
    """Return a page's status and body."""
    connection = HTTPConnection("127.0.0.1", health.port, timeout=5)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def test_a_service_that_is_not_ready_lives(health: Health) -> None:
    """A service that waits for its database is not ready, and is not to be restarted."""
    assert 200 == get(health, "/livez")[0]
    assert 503 == get(health, "/readyz")[0]


def test_readiness_is_asked_on_each_request(health: Health, readiness: Readiness) -> None:
    """Readiness is what it is now."""
    readiness.ready = True
    ready = get(health, "/readyz")[0]
    readiness.ready = False

    assert (200, 503) == (ready, get(health, "/readyz")[0])


def test_the_metrics_say_which_build_it_is(health: Health) -> None:
    """Each program shows build_info and its process's own series."""
    status, body = get(health, "/metrics")

    assert 200 == status
    assert 'fairlead_build_info{program="tests"' in body


def test_another_page_is_not_found_and_named(health: Health) -> None:
    """Whatever is not one of the three pages is 404 and says which there are."""
    status, body = get(health, "/elsewhere?" + "x" * 1000)

    assert (404, True) == (status, "/metrics" in body)


def test_a_probe_by_head_gets_no_body(health: Health) -> None:
    """HEAD is answered like GET, without the body."""
    assert (200, "") == get(health, "/livez", "HEAD")


def test_a_silent_client_delays_no_other_client(health: Health) -> None:
    """Each request has a thread of its own."""
    with socket.create_connection(("127.0.0.1", health.port)):
        assert 200 == get(health, "/livez")[0]


def test_a_port_that_is_taken_is_named_in_one_sentence(health: Health) -> None:
    """A port that cannot be had is said with its number and what to do."""
    second = Health(
        ready=lambda: True, registry=CollectorRegistry(), port=health.port, host="127.0.0.1"
    )

    with pytest.raises(CannotListen, match=rf"FAIRLEAD_HEALTH_PORT.*{health.port}.*choose"):
        second.start()


def test_stopping_twice_is_stopping_once(health: Health) -> None:
    """A stopped service listens no more, however often it is stopped."""
    port = health.port
    health.stop()
    health.stop()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)
