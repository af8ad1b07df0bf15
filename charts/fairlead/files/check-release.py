# ruff: noqa: INP001 - helm reads this file into a pod, and nothing imports it
"""The checks of `helm test`: all pods serve their metrics, and an autoscaler renews the Lease.

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
from pathlib import Path
from typing import cast

SECONDS = {"s": 1, "m": 60, "h": 3600}
PAUSE_SECONDS = 0.5
# Twice the time between two renewals.
RENEWAL_SECONDS = 2.0
TIMEOUT_SECONDS = 5.0

Json = dict[str, dict[str, str]]


class NotYetError(Exception):
    """A check does not hold yet; the text is a sentence about what is missing."""


def arguments() -> argparse.Namespace:
    """Return the parsed arguments."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wait", default="60s", help="how long to wait: 90s, 5m, 2h")
    parser.add_argument("--pods", default="", help="HOST:PORT of the Service of all pods")
    parser.add_argument("--lease", default="", help="NAMESPACE/NAME of the Lease")
    parser.add_argument("--api", default="https://kubernetes.default.svc")
    parser.add_argument("--credentials", type=Path, default=Path("/run/fairlead/api"))
    return parser.parse_args()


def pods_answer(where: str) -> str:
    """Request the metrics of every pod behind a name."""
    host, _, port = where.rpartition(":")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotYetError(f"no pod has the name {host}: {error}") from None
    addresses = sorted({str(each[4][0]) for each in found})
    for address in addresses:
        pod = HTTPConnection(address, int(port), timeout=TIMEOUT_SECONDS)
        if "\nfairlead_build_info{" not in "\n" + fetched(pod, "/metrics"):
            raise NotYetError(f"{address}:{port} serves no fairlead_build_info")
    return f"{len(addresses)} pods serve their metrics"


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
    token = (given.credentials / "token").read_text("utf-8").strip()
    scheme, _, host = given.api.partition("://")
    server = HTTPConnection(host, timeout=TIMEOUT_SECONDS)
    if scheme == "https":
        trust = ssl.create_default_context(cafile=str(given.credentials / "ca.crt"))
        server = HTTPSConnection(host, timeout=TIMEOUT_SECONDS, context=trust)
    return cast("Json", json.loads(fetched(server, path, {"Authorization": f"Bearer {token}"})))


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


def main() -> None:
    """Run the checks that the arguments name."""
    given = arguments()
    until = time.monotonic() + float(given.wait[:-1]) * SECONDS[given.wait[-1]]
    try:
        if given.pods:
            sys.stdout.write(checked(lambda: pods_answer(given.pods), until=until) + "\n")
        if given.lease:
            sys.stdout.write(checked(lambda: lease_is_renewed(given), until=until) + "\n")
    except NotYetError as missing:
        sys.exit(f"fairlead: {missing}")


main()
