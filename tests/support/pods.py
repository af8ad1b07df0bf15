"""Pods of no release, which ask over the cluster's network and answer whoever may ask."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from tests.support import cluster
from tests.support.chart import Json, Object
from tests.support.cluster import Release

SERVED = 8000
"""The port on which such a pod answers every request."""

_SERVE = f"import http.server as s; s.test(s.SimpleHTTPRequestHandler, port={SERVED})"
_ASK = """
import json, sys, urllib.error, urllib.parse, urllib.request

class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None

opener = urllib.request.build_opener(Stay)

def asked(url, headers, form):
    body = None if form is None else urllib.parse.urlencode(form).encode()
    try:
        answer = opener.open(urllib.request.Request(url, body, headers), timeout=5)
    except urllib.error.HTTPError as refused:
        answer = refused
    except OSError:
        return [0, ""]
    return [answer.status, answer.read().decode()]

print(json.dumps([asked(**each) for each in json.load(sys.stdin)]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a pod asks for."""

    url: str
    headers: Mapping[str, str]
    form: Mapping[str, str] | None = None
    """What it posts; None: it gets."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What it is answered; a redirect is not followed."""

    status: int
    """0: nothing answers within 5 s."""
    text: str


def make(release: Release, name: str, labels: Mapping[str, str]) -> None:
    """Make a pod in the release's namespace, and wait until it is ready."""
    container: Object = {
        "name": "main",
        "image": cluster.IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", _SERVE],
        "workingDir": "/tmp",  # noqa: S108 - the pod's own
        "readinessProbe": {"tcpSocket": {"port": SERVED}, "periodSeconds": 1},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": cast("Json", dict(labels))},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }
    release.kubectl("apply", "--filename=-", given=json.dumps(pod))
    release.kubectl("wait", f"pod/{name}", "--for=condition=Ready", "--timeout=50s")


def ask(release: Release, pod: str, *requests: Request) -> list[Answer]:
    """Have a pod ask for these, one after the other."""
    given = json.dumps(
        [
            {"url": each.url, "headers": {**each.headers}, "form": _form(each)}
            for each in requests
        ]
    )
    words = ("exec", "--stdin", pod, "--", "python3", "-c", _ASK)
    said = json.loads(release.kubectl(*words, given=given, seconds=120))
    return [Answer(status, text) for status, text in cast("list[tuple[int, str]]", said)]


def _form(request: Request) -> Mapping[str, str] | None:
    return None if request.form is None else {**request.form}
