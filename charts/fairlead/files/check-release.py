# ruff: noqa: INP001 - helm reads this file into a pod, and nothing imports it
"""The checks of `helm test`: all pods serve their metrics, and an autoscaler leads.

It runs with `python3 -c` in the image, so it needs only the standard library. It prints what it
found, or one sentence about what it waited for in vain, and then exits with 1.
"""

import argparse
import json
import socket
import ssl
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import chain
from pathlib import Path
from typing import cast
from urllib.parse import quote

SECONDS = {"s": 1, "m": 60, "h": 3600}
PAUSE_SECONDS = 0.5
# Twice the time between two renewals.
RENEWAL_SECONDS = 2.0
TIMEOUT_SECONDS = 5.0
LEADER = 'fairlead_leader{program="autoscaler"} 1.0'
PLACES = "fairlead_autoscaler_policy_places "
WRITTEN_TWICE = "the policy is written in two places: the status ConfigMap says where"
OBSTACLE = 'fairlead_autoscaler_cannot_lead{reason="'

# Reasons of waiting containers that pass by themselves.
PASSING = {"ContainerCreating", "PodInitializing"}
OBSTACLES_MAX = 3

Json = dict[str, dict[str, str]]


class NotYetError(Exception):
    """A check does not hold yet; the text is a sentence about what is missing."""


def arguments() -> argparse.Namespace:
    """Return the parsed arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wait", default="60s", help="how long to wait: 90s, 5m, 2h")
    parser.add_argument("--pods", default="", help="HOST:PORT of the Service of all pods")
    parser.add_argument("--lease", default="", help="NAMESPACE/NAME of the Lease")
    parser.add_argument("--release", default="", help="NAMESPACE/SELECTOR of its pods")
    parser.add_argument("--api", default="https://kubernetes.default.svc")
    parser.add_argument("--credentials", type=Path, default=Path("/run/fairlead/api"))
    return parser.parse_args()


def pods_answer(where: str) -> str:
    """Check that every pod behind a name serves metrics, and none says that it cannot lead."""
    pods = metrics(where)
    for pod, lines in pods.items():
        if not any(each.startswith("fairlead_build_info{") for each in lines):
            raise NotYetError(f"{pod} serves no fairlead_build_info")
        for each in lines:
            if each.startswith(OBSTACLE):
                reason = each.removeprefix(OBSTACLE).partition('"')[0]
                raise NotYetError(
                    f"the autoscaler at {pod} cannot lead: {reason}; its log says more"
                )
    found = f"{len(pods)} pods serve their metrics"
    places = (each for each in chain(*pods.values()) if each.startswith(PLACES))
    twice = any(float(each.removeprefix(PLACES)) > 1 for each in places)
    return f"{found}; {WRITTEN_TWICE}" if twice else found


def metrics(where: str) -> dict[str, list[str]]:
    """Request the metrics of every pod behind a name."""
    host, _, port = where.rpartition(":")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotYetError(f"no pod has the name {host}: {error}") from None
    pods = {
        f"{address}:{port}": HTTPConnection(address, int(port), timeout=TIMEOUT_SECONDS)
        for address in sorted({str(each[4][0]) for each in found})
    }
    return {pod: fetched(server, "/metrics").splitlines() for pod, server in pods.items()}


def release_is_led(given: argparse.Namespace) -> str:
    """Check that an autoscaler leads; if none does, one that knows why says it."""
    if not given.pods:
        return lease_is_renewed(given)
    try:
        return holder_leads(lease_is_renewed(given), given.pods)
    except NotYetError:
        pods_answer(given.pods)
        raise


def holder_leads(found: str, where: str) -> str:
    """Check that a pod says that it leads: its holder may have been given no epoch."""
    if not any(LEADER in lines for lines in metrics(where).values()):
        raise NotYetError(f"{found}, and does not lead")
    return found


def lease_is_renewed(given: argparse.Namespace) -> str:
    """Check that a held Lease changes, without comparing clocks."""
    namespace, _, name = given.lease.partition("/")
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    before = lease(given, path)
    holder = before.get("spec", {}).get("holderIdentity")
    if not holder:
        raise NotYetError(f"no pod holds the Lease {name}")
    time.sleep(RENEWAL_SECONDS)
    after = lease(given, path)
    if after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]:
        raise NotYetError(f"{holder} holds the Lease {name} but does not renew it")
    return f"{holder} holds the Lease {name}"


def lease(given: argparse.Namespace, path: str) -> Json:
    """Read the Lease from the API server."""
    return cast("Json", asked(given, path))


def asked(given: argparse.Namespace, path: str) -> dict[str, object]:
    """Read something from the API server."""
    token = (given.credentials / "token").read_text("utf-8").strip()
    scheme, _, host = given.api.partition("://")
    server = HTTPConnection(host, timeout=TIMEOUT_SECONDS)
    if scheme == "https":
        trust = ssl.create_default_context(cafile=str(given.credentials / "ca.crt"))
        server = HTTPSConnection(host, timeout=TIMEOUT_SECONDS, context=trust)
    answer = fetched(server, path, {"Authorization": f"Bearer {token}"})
    return cast("dict[str, object]", json.loads(answer))


def pods_of(given: argparse.Namespace) -> list[dict[str, object]]:
    """Read the release's pods from the API server."""
    namespace, _, selector = given.release.partition("/")
    path = f"/api/v1/namespaces/{namespace}/pods?labelSelector={quote(selector)}"
    return cast("list[dict[str, object]]", asked(given, path)["items"])


def statuses(pod: dict[str, object]) -> list[dict[str, Json]]:
    """Return what a pod says of its containers."""
    status = cast("dict[str, list[dict[str, Json]]]", pod.get("status", {}))
    return [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]


def obstacles(pods: list[dict[str, object]]) -> list[str]:
    """Return why pods cannot run, a sentence for each."""
    found = list[str]()
    for pod in pods:
        name = cast("dict[str, str]", pod["metadata"])["name"]
        for each in statuses(pod):
            waiting = each.get("state", {}).get("waiting") or {}
            reason = waiting.get("reason", "")
            if reason and reason not in PASSING:
                said = " ".join(waiting.get("message", "").split()) or str(each["image"])
                found.append(f"the pod {name} cannot run: {reason}: {said}")
    return found


def mixed_images(pods: list[dict[str, object]]) -> list[str]:
    """Return the images that were changed under one tag, a sentence for each."""
    found = dict[str, set[str]]()
    for each in chain(*map(statuses, pods)):
        image, content = str(each.get("image", "")), str(each.get("imageID", ""))
        if content and "@" not in image:
            found.setdefault(image, set()).add(content)
    return [
        f"pods run {len(contents)} versions of {image}: its tag was moved; give image.digest"
        for image, contents in sorted(found.items())
        if len(contents) > 1
    ]


def fetched(server: HTTPConnection, path: str, headers: dict[str, str] | None = None) -> str:
    """Return the text that a server has under a path."""
    try:
        server.request("GET", path, headers=headers or {})
        answer = server.getresponse()
        text = answer.read().decode()
    except (OSError, HTTPException) as error:
        raise NotYetError(f"{server.host}:{server.port} does not answer: {error}") from None
    finally:
        server.close()
    if answer.status != 200:
        raise NotYetError(f"{server.host}:{server.port}{path} answers {answer.status}")
    return text


def checked(check: Callable[[], str], *, until: float) -> str:
    """Repeat a check until it holds or the time is up."""
    while True:
        try:
            return check()
        except NotYetError:
            if time.monotonic() > until:
                raise
        time.sleep(PAUSE_SECONDS)


def why(given: argparse.Namespace, missing: NotYetError) -> str:
    """Return what is missing, behind why a pod cannot run if one says so."""
    try:
        found = obstacles(pods_of(given)) if given.release else []
    except NotYetError:
        found = []
    return "; ".join([*found[:OBSTACLES_MAX], str(missing)])


def main() -> None:
    """Run the checks that the arguments name."""
    given = arguments()
    until = time.monotonic() + float(given.wait[:-1]) * SECONDS[given.wait[-1]]
    try:
        if given.pods:
            sys.stdout.write(checked(lambda: pods_answer(given.pods), until=until) + "\n")
        if given.lease:
            sys.stdout.write(checked(lambda: release_is_led(given), until=until) + "\n")
        if given.release:
            sys.stdout.writelines(f"{each}\n" for each in mixed_images(pods_of(given)))
    except NotYetError as missing:
        sys.exit(f"fairlead: {why(given, missing)}")


main()
