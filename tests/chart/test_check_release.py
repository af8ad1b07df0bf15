"""The script of `helm test`: it checks pods' metrics, and that the Lease is renewed."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest

from tests.support.chart import CHART, GIVEN, Json, Object, at, needs_helm, one, render

SCRIPT = (CHART / "files/check-release.py").read_text("utf-8")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/work/leases/shop"
PODS = "/api/v1/namespaces/work/pods?labelSelector=app%3Dshop"
METRICS = """# TYPE x gauge
fairlead_build_info{version="1"} 1
fairlead_leader{program="autoscaler"} 1.0
"""
OBSTACLE = 'fairlead_autoscaler_cannot_lead{reason="LeaseForbidden"} 1.0\n'


@dataclass(slots=True)
class Cluster:
    """What a pod and the API server answer; each look at the Lease finds the next version."""

    port: int = 0
    metrics: str = METRICS
    holder: str = "pod-1"
    step: int = 1
    version: int = 0
    pods: list[Object] = field(default_factory=list["Object"])
    tokens: set[str | None] = field(default_factory=set[str | None])

    def answer(self, path: str, token: str | None) -> str:
        """Return what is under a path; empty: nothing."""
        if path == "/metrics":
            return self.metrics
        if path == PODS:
            return json.dumps({"items": self.pods})
        if path != LEASE:
            return ""
        self.tokens.add(token)
        self.version += self.step
        spec = {"spec": {"holderIdentity": self.holder}} if self.holder else {}
        return json.dumps({**spec, "metadata": {"resourceVersion": str(self.version)}})


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Yield a pod and an API server in one, on loopback."""
    made = Cluster()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = made.answer(self.path, self.headers["Authorization"])
            self.send_response(200 if text else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.port = server.server_address[1]
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield made
        server.shutdown()
        serving.join()


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the script as the pod does; return its exit status and output."""
    (folder / "token").write_text("secret\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, f"--credentials={folder}", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def asked(cluster: Cluster, *, wait: str = "0s") -> tuple[str, ...]:
    """Return the arguments that ask for both."""
    here = f"127.0.0.1:{cluster.port}"
    names = ("--lease=work/shop", "--release=work/app=shop")
    return f"--pods={here}", *names, f"--api=http://{here}", f"--wait={wait}"


def pod(name: str, **status: Json) -> Object:
    """Return a pod with one container."""
    container: Object = {"name": "c", "image": "r.dev/app:1", **status}
    return {"metadata": {"name": name}, "status": {"containerStatuses": [container]}}


def test_a_complete_release_is_reported_as_complete(cluster: Cluster, tmp_path: Path) -> None:
    """Each finding is a line, and the Lease is read with the token that is mounted."""
    found = run(tmp_path, *asked(cluster))

    assert (0, "1 pods serve their metrics\npod-1 holds the Lease shop\n") == found
    assert {"Bearer secret"} == cluster.tokens


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"metrics": "else 1\n"}, "serves no fairlead_build_info"),
        ({"metrics": ""}, "/metrics answers 404"),
        ({"holder": ""}, "no pod holds the Lease shop"),
        ({"step": 0}, "pod-1 holds the Lease shop but does not renew it"),
        ({"metrics": METRICS.replace(" 1.0", " 0.0")}, "the Lease shop, and does not lead"),
        ({"metrics": METRICS + OBSTACLE}, "cannot lead: LeaseForbidden; its log says more"),
    ],
    ids=str,
)
def test_what_is_missing_is_reported_in_a_sentence(
    cluster: Cluster, tmp_path: Path, broken: dict[str, str | int], said: str
) -> None:
    """The pod fails, and `helm test --logs` shows why."""
    for name, value in broken.items():
        setattr(cluster, name, value)

    status, text = run(tmp_path, *asked(cluster))

    assert 1 == status
    assert said in text
    assert text.startswith("fairlead: ") or "1 pods serve" in text
    assert "Traceback" not in text


@pytest.mark.parametrize(("count", "is_said"), [("1.0", False), ("2.0", True), ("11.0", True)])
def test_a_policy_that_two_places_write_is_said(
    cluster: Cluster, tmp_path: Path, count: str, *, is_said: bool
) -> None:
    """It may be meant, so that the test does not fail for it."""
    cluster.metrics = f"{METRICS}fairlead_autoscaler_policy_places {count}\n"

    status, text = run(tmp_path, *asked(cluster))

    assert (0, is_said) == (status, "the policy is written in two places: the status" in text)


def test_a_pod_that_cannot_run_is_said_with_what_is_missing(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A missing Secret or image is the reason that everything else is missing."""
    refused: Object = {
        "reason": "CreateContainerConfigError",
        "message": 'secret "db" not found',
    }
    cluster.holder = ""
    cluster.pods = [
        pod("shop-1", state={"waiting": refused}),
        pod("shop-2", state={"waiting": {"reason": "ImagePullBackOff"}}),
        pod("shop-3", state={"waiting": {"reason": "ContainerCreating"}}),
        {"metadata": {"name": "shop-4"}},
    ]

    status, text = run(tmp_path, *asked(cluster))

    assert 1 == status
    assert text.splitlines()[-1] == (
        "fairlead: the pod shop-1 cannot run: CreateContainerConfigError: "
        'secret "db" not found; '
        "the pod shop-2 cannot run: ImagePullBackOff: r.dev/app:1; no pod holds the Lease shop"
    )


def test_an_image_that_was_moved_is_said(cluster: Cluster, tmp_path: Path) -> None:
    """Pods of one tag that run two versions of it: it may be a rollout, so it does not fail."""
    cluster.pods = [pod(f"shop-{n}", imageID=f"r.dev/app@sha256:{n}") for n in (1, 2, 2)]

    status, text = run(tmp_path, *asked(cluster))

    assert 0 == status
    assert "pods run 2 versions of r.dev/app:1: its tag was moved; give image.digest" in text


def test_a_name_that_does_not_resolve_is_waited_for_and_reported(tmp_path: Path) -> None:
    """A Service without pods has no addresses."""
    status, text = run(tmp_path, "--pods=missing.invalid:80", "--wait=1s")

    assert (1, True) == (
        status,
        text.startswith("fairlead: no pod has the name missing.invalid"),
    )


@needs_helm
def test_the_tests_pod_runs_it_with_what_the_release_has() -> None:
    """Nothing in the text is one of Kubernetes' `$(…)`, and its token lasts ten minutes."""
    objects = render({**GIVEN, "tests": {"wait": "5m", "tenant": "acme"}})
    (job, release) = cast(
        "list[Object]", at(one(objects, "Pod", "shop-fairlead-test"), "spec", "containers")
    )
    text, *arguments = cast("list[str]", release["args"])

    assert SCRIPT.strip() == text.strip()
    assert "$(" not in text
    assert [
        "--wait=5m",
        "--pods=shop-fairlead-metrics:8080",
        "--release=work/app.kubernetes.io/instance=shop",
        "--lease=work/shop-fairlead-autoscaler",
    ] == arguments
    assert "--tenant=acme" in cast("list[str]", job["args"])
    assert one(objects, "Service", "shop-fairlead-metrics")
    assert one(objects, "Lease", "shop-fairlead-autoscaler")


@needs_helm
@pytest.mark.parametrize(
    ("values", "missing"),
    [
        ({"metrics": {"service": {"enabled": False}}}, "--pods"),
        ({"autoscaler": {"rbac": {"create": False}}}, "--lease"),
    ],
)
def test_it_does_not_ask_for_what_is_not_there(values: Object, missing: str) -> None:
    """Without the Service no pod can be named, and without our Role no Lease be read."""
    pod = at(one(render({**GIVEN, **values}), "Pod", "shop-fairlead-test"), "spec")
    arguments = cast("list[str]", at(pod, "containers", 1, "args"))
    named = {str(at(each, "name")) for each in cast("list[Json]", at(pod, "volumes"))}

    assert [] == [each for each in arguments if each.startswith(missing)]
    assert ("api" in named) == (missing != "--lease")
