"""What goes wrong on the way to the API server, and what the controller then knows."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

import pytest

from fairlead_autoscaler.kube import convert, models
from fairlead_autoscaler.kube.client import Client
from fairlead_autoscaler.kube.port import (
    BusyError,
    ConflictError,
    ForbiddenError,
    KubeError,
    NotFoundError,
    RefusedError,
    UnreachableError,
    WatchedPod,
)
from fairlead_autoscaler.kube.watch import Mirror, Source, Watch
from tests.support.kubernetes import api, objects, scenes
from tests.support.kubernetes.faults import Fault, WatchEventType
from tests.support.waiting import until

PODS = Source(
    path=scenes.PODS,
    selector=("labelSelector", scenes.NAMES.pods),
    page=models.PODS,
    line=models.POD,
    uid=lambda each: each.metadata.uid,
    window_seconds=2,
    silence_seconds=3.0,
)


class Seen:
    """A mirror of the pods and the errors that its watch reported."""

    def __init__(self) -> None:
        self.mirror = Mirror[models.PodObject, WatchedPod](convert.pod)
        self.failures: list[KubeError] = []

    @property
    def names(self) -> set[str]:
        """The pods that are shown."""
        return {each.name for each in self.mirror.values()}

    def as_of(self) -> float:
        """Until when they are complete; before all time: nothing was shown."""
        return -1.0 if self.mirror.as_of is None else self.mirror.as_of


@pytest.fixture
def server() -> Iterator[api.Api]:
    """Run an empty server."""
    with api.running() as running:
        yield running


@contextmanager
def synced(server: api.Api, source: Source[models.PodObject] = PODS) -> Generator[Seen]:
    """Watch the pods in a thread while inside."""
    seen, stop = Seen(), Event()
    watch = Watch(
        server.client(),
        source,
        seen.mirror,
        clock=monotonic,
        stop=stop,
        on_error=lambda _path, error: seen.failures.append(error),
    )
    thread = Thread(target=watch.run, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        watch.close()
        thread.join(20)
        assert not thread.is_alive()


def add(server: api.Api, *names: str) -> None:
    """Add pods."""
    for name in names:
        server.store.create(scenes.PODS, objects.pod(name, "default"))


def shows(seen: Seen, *names: str) -> None:
    """Wait until exactly these pods are shown."""
    until(lambda: seen.names == set(names), what=f"the pods {names}", seconds=20)


def begun(server: api.Api, verb: str) -> int:
    """Return how often pods were listed or watched."""
    return sum(each.verb == verb and each.resource == "pods" for each in server.asked)


def test_a_half_open_watch_is_given_up_and_what_it_missed_is_shown(server: api.Api) -> None:
    """A silent connection is trusted until its time limit and no longer."""
    with synced(server) as seen:
        until(lambda: begun(server, "watch"), what="a watch")
        server.silence()
        add(server, "missed")

        shows(seen, "missed")

    assert any(isinstance(each, UnreachableError) for each in seen.failures)


def test_a_server_that_asks_for_a_day_of_rest_gets_half_a_minute(server: api.Api) -> None:
    """Nothing would be known of the pods for so long."""
    server.faults.add(Fault(kind="answer", code=429, retry_after="86400", resource="pods"))
    watch = Watch(
        server.client(),
        PODS,
        Seen().mirror,
        clock=monotonic,
        stop=Event(),
        on_error=lambda _path, _error: None,
    )

    assert 30 <= watch.step() <= 36


def test_a_half_open_watch_does_not_pass_for_a_fresh_one(server: api.Api) -> None:
    """`as_of` stands still while nothing is heard."""
    with synced(server) as seen:
        until(lambda: begun(server, "watch"), what="a watch")
        server.faults.add(Fault(kind="hang", resource="pods", times=100))
        server.silence()
        heard = until(seen.as_of, what="a list")
        until(lambda: seen.failures, what="the end of the belief", seconds=20)

        assert heard == seen.as_of()


def test_a_quiet_watch_stays_fresh_by_the_end_that_the_server_keeps(server: api.Api) -> None:
    """Each end that the server meant says that nothing was missed until then."""
    with synced(server) as seen:
        first = until(lambda: max(0.0, seen.as_of()), what="a list")

        until(lambda: seen.as_of() > first + 2, what="two ends", seconds=20)

    assert [] == seen.failures
    assert 1 == begun(server, "list")


def test_a_version_that_was_forgotten_makes_a_new_list(server: api.Api) -> None:
    """410 in the watch: what was deleted meanwhile is gone, what was made is shown."""
    add(server, "old", "kept")
    with synced(server) as seen:
        shows(seen, "old", "kept")
        was = {each.name: each.seen_at for each in seen.mirror.values()}
        with server.store.moved:
            server.store.delete(scenes.PODS, "old")
            add(server, "new")
            server.store.forget()

        shows(seen, "kept", "new")

        pods = {each.name: each for each in seen.mirror.values()}
        assert was["kept"] is None is pods["kept"].seen_at
        assert pods["new"].seen_at is not None


def test_a_watch_that_is_refused_as_too_old_lists_anew(server: api.Api) -> None:
    """410 as the answer itself."""
    with synced(server) as seen:
        until(lambda: begun(server, "watch"), what="a watch")
        server.faults.add(Fault(kind="answer", code=410, verb="watch", resource="pods"))
        until(lambda: begun(server, "list") == 2, what="a second list", seconds=20)
        add(server, "new")

        shows(seen, "new")


def test_a_list_of_many_pages_is_whole(server: api.Api) -> None:
    """Pages keep the memory of a large list small."""
    names = [f"pod-{number:04}" for number in range(600)]
    add(server, *names)
    with synced(server) as seen:
        shows(seen, *names)

    assert 3 == begun(server, "list")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="answer", code=500, verb="list"),
        Fault(kind="answer", code=429, retry_after="1", verb="list"),
        Fault(kind="cut", verb="list"),
        Fault(kind="strange", verb="list"),
        Fault(kind="answer", code=503, verb="watch"),
        Fault(kind="answer", code=429, retry_after="1", verb="watch"),
        Fault(kind="answer", code=403, verb="watch"),
        Fault(kind="cut", verb="watch"),
    ],
    ids=lambda fault: f"{fault.verb}-{fault.kind}-{fault.code}",
)
def test_a_watch_goes_on_after(server: api.Api, fault: Fault) -> None:
    """Every failure is reported, and the mirror ends with the present objects."""
    server.faults.add(fault)
    with synced(server) as seen:
        until(lambda: begun(server, "watch"), what="a watch", seconds=20)
        add(server, "new")
        shows(seen, "new")

        until(lambda: seen.failures, what="the trouble", seconds=20)


def test_a_watch_that_ends_at_once_is_no_storm(server: api.Api) -> None:
    """Ends that come too soon are followed by a rest."""
    source = Source(
        path=PODS.path,
        selector=PODS.selector,
        page=PODS.page,
        line=PODS.line,
        uid=PODS.uid,
        window_seconds=0,
        silence_seconds=3.0,
    )
    with synced(server, source) as seen:
        started = until(lambda: max(0.0, seen.as_of()), what="a list")
        until(lambda: begun(server, "watch") >= 4, what="four watches", seconds=20)

    assert monotonic() - started > 1.0


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (401, ForbiddenError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (422, RefusedError),
        (429, BusyError),
        (500, UnreachableError),
        (504, UnreachableError),
    ],
)
def test_a_refusal_says_whether_it_took_effect(
    server: api.Api, code: int, error: type[KubeError]
) -> None:
    """Nothing is tried twice: each answer is one error, with the server's sentence."""
    server.faults.add(Fault(kind="answer", code=code, retry_after="7"))

    with pytest.raises(error, match="the test says so") as caught:
        server.client().call("GET", scenes.PODS)

    assert 1 == begun(server, "list")
    if isinstance(caught.value, BusyError):
        assert 7.0 == caught.value.retry_after_seconds


@pytest.mark.parametrize("kind", ["hang", "trickle", "cut", "lost"])
def test_a_call_ends_in_its_time(server: api.Api, kind: WatchEventType) -> None:
    """Also when the server answers a byte at a time, which no read's own limit sees."""
    server.faults.add(Fault(kind=kind))
    started = monotonic()

    with pytest.raises(UnreachableError):
        server.client().call("GET", f"{scenes.PODS}?limit=1", seconds=0.5)

    assert monotonic() - started < 5


def test_a_server_that_is_not_there_is_unreachable() -> None:
    """A refused connection is tried once."""
    with api.running() as gone:
        client: Client = gone.client()

    with pytest.raises(UnreachableError):
        client.call("GET", scenes.PODS)


def test_a_token_is_asked_for_before_each_call(server: api.Api) -> None:
    """Tokens rotate while the process runs."""
    asked: list[int] = []

    def authorization() -> str:
        asked.append(1)
        return "Bearer new"

    made = server.client()
    client = Client(made.pool, made.host, authorization)
    for _ in range(2):
        client.call("GET", scenes.PODS)

    assert 2 == len(asked)
