# ruff: noqa: INP001 - helm reads this file into a pod, and nothing imports it
"""What `helm test` asks of a release: pods show their metrics, somebody renews the Lease.

Run with `python3 -c` in the image, so it needs the standard library alone. It says what it
found, or in one sentence what it waited for in vain, and then exits with 1.
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
# Twice the time after which a holder renews.
RENEWAL_SECONDS = 2.0
TIMEOUT_SECONDS = 5.0

Json = dict[str, dict[str, str]]


class NotYetError(Exception):
    """What is still missing, in a sentence."""


def arguments() -> argparse.Namespace:
    """Return what the pod's arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--wait", default="60s", help="for how long: 90s, 5m, 2h")
    parser.add_argument("--pods", default="", help="HOST:PORT behind which all pods are")
    parser.add_argument("--lease", default="", help="NAMESPACE/NAME of the Lease")
    parser.add_argument("--api", default="https://kubernetes.default.svc")
    parser.add_argument("--credentials", type=Path, default=Path("/run/fairlead/api"))
    return parser.parse_args()


def pods_answer(where: str) -> str:
    """Ask every pod behind a name for its metrics."""
    host, _, port = where.rpartition(":")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise NotYetError(f"no pod is known under {host}: {error}") from None
    addresses = sorted({str(each[4][0]) for each in found})
    for address in addresses:
        pod = HTTPConnection(address, int(port), timeout=TIMEOUT_SECONDS)
        if "\nfairlead_build_info{" not in "\n" + fetched(pod, "/metrics"):
            raise NotYetError(f"{address}:{port} shows no fairlead_build_info")
    return f"{len(addresses)} pods show their metrics"


def lease_is_renewed(given: argparse.Namespace) -> str:
    """See a Lease that somebody holds change, so that no clocks are compared."""
    namespace, _, name = given.lease.partition("/")
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    before = lease(given, path)
    holder = before.get("spec", {}).get("holderIdentity")
    if not holder:
        raise NotYetError(f"nobody holds the Lease {name}")
    time.sleep(RENEWAL_SECONDS)
    after = lease(given, path)
    if after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]:
        raise NotYetError(f"{holder} holds the Lease {name} and does not renew it")
    return f"{holder} holds the Lease {name}"


def lease(given: argparse.Namespace, path: str) -> Json:
    """Read the Lease as the API server has it."""
    token = (given.credentials / "token").read_text("utf-8").strip()
    scheme, _, host = given.api.partition("://")
    server = HTTPConnection(host, timeout=TIMEOUT_SECONDS)
    if scheme == "https":
        trust = ssl.create_default_context(cafile=str(given.credentials / "ca.crt"))
        server = HTTPSConnection(host, timeout=TIMEOUT_SECONDS, context=trust)
    return cast("Json", json.loads(fetched(server, path, {"Authorization": f"Bearer {token}"})))


def fetched(server: HTTPConnection, path: str, headers: dict[str, str] | None = None) -> str:
    """Return what a server has under a path."""
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
    """Repeat a check until it holds or time is up."""
    while True:
        try:
            return check()
        except NotYetError:
            if time.monotonic() > until:
                raise
        time.sleep(PAUSE_SECONDS)


def main() -> None:
    """Check what the arguments name."""
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
