"""A release applied as Argo CD does: rendered, and without what it leaves out by default."""

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml

from tests.support.chart import CHART, GIVEN, Json, Object, at, environment, of, one, render
from tests.support.real_api import Api

AUTOSCALER = "shop-fairlead-autoscaler"
WORKERS = "shop-fairlead-worker-default"
LEFT_OUT = "Lease"
"""Argo CD's default `resource.exclusions` have coordination.k8s.io/Lease."""
VALUES: Object = {**GIVEN, "workerPools": {"default": {"autoscale": {"min": 3, "max": 5}}}}
_APPLY = "application/apply-patch+yaml"
_CREATE_LEASE = {"leases", "create"}
_GROUPS = {
    "ConfigMap": "api/v1",
    "ServiceAccount": "api/v1",
    "Deployment": "apis/apps/v1",
    "Role": "apis/rbac.authorization.k8s.io/v1",
    "RoleBinding": "apis/rbac.authorization.k8s.io/v1",
    "Lease": "apis/coordination.k8s.io/v1",
}
_CHECK = (CHART / "files/check-release.py").read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Release:
    """A release `shop` in a namespace of its own, on a real API server."""

    api: Api
    namespace: str

    @property
    def objects(self) -> tuple[Object, ...]:
        """What the chart renders."""
        return render(VALUES, "--namespace", self.namespace)

    def install(self) -> None:
        """Apply it."""
        made: Object = {"metadata": {"name": self.namespace}}
        assert self.api.ask("POST", "/api/v1/namespaces", made)[0] == 201
        for kind in _GROUPS.keys() - {LEFT_OUT}:
            for each in of(self.objects, kind):
                self.apply(each)

    def apply(self, made: Object) -> None:
        """Apply one object."""
        path = self.path(str(made["kind"]), str(at(made, "metadata", "name")))
        query = "?fieldManager=argocd-controller&force=true"
        status, answer = self.api.ask("PATCH", path + query, made, content_type=_APPLY)
        assert status in {200, 201}, answer

    def apply_role(self, *, creates_leases: bool) -> None:
        """Apply the Role, with or without the right to create a Lease."""
        role = one(self.objects, "Role", AUTOSCALER)
        rules = cast("list[Object]", role["rules"])
        kept = [
            each
            for each in rules
            if creates_leases
            or not (each["resources"] == ["leases"] and each["verbs"] == ["create"])
        ]
        self.apply({**role, "rules": cast("Json", kept)})

    def path(self, kind: str, name: str = "") -> str:
        """Return where objects of a kind are, or one of them."""
        here = f"/{_GROUPS[kind]}/namespaces/{self.namespace}/{kind.lower()}s"
        return f"{here}/{name}" if name else here

    def get(self, kind: str, name: str, *keys: str) -> Json:
        """Return what stands under these keys of an object; None: there is no such object."""
        status, found = self.api.ask("GET", self.path(kind, name))
        return at(found, *keys) if status == 200 else None

    def events(self) -> list[Object]:
        """Return all events."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        return cast("list[Object]", self.api.ask("GET", path)[1]["items"])

    def token(self) -> str:
        """Return a token of the autoscaler's account."""
        path = f"{self.path('ServiceAccount', AUTOSCALER)}/token"
        body: Object = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600},
        }
        status, answer = self.api.ask("POST", path, body)
        assert status == 201, answer
        return str(at(answer, "status", "token"))

    def kubeconfig(self, folder: Path) -> Path:
        """Write how its account reaches the server."""
        found = cast("dict[str, Json]", yaml.safe_load(self.api.kubeconfig.read_text()))
        found["users"] = [{"name": "admin", "user": {"token": self.token()}}]
        path = folder / "kubeconfig"
        path.write_text(json.dumps(found))
        return path


@dataclass(frozen=True, slots=True)
class Program:
    """An autoscaler of the release, on this machine."""

    release: Release
    folder: Path
    port: int

    def log(self) -> list[Object]:
        """Return the lines of its log."""
        lines = (self.folder / "log").read_text().splitlines()
        return [cast("Object", json.loads(each)) for each in lines if each.startswith("{")]

    def helm_test(self) -> tuple[int, str]:
        """Return the status and the output of what `helm test` runs, without a wait."""
        (self.folder / "token").write_text(self.release.token())
        (self.folder / "ca.crt").write_text(self.release.api.authority.read_text())
        done = subprocess.run(
            [
                *(sys.executable, "-c", _CHECK, f"--credentials={self.folder}", "--wait=0s"),
                f"--pods=127.0.0.1:{self.port}",
                f"--lease={self.release.namespace}/{AUTOSCALER}",
                f"--api=https://127.0.0.1:{self.release.api.port}",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr


@contextmanager
def autoscaler(
    release: Release, database_url: str, folder: Path, *, port: int
) -> Generator[Program]:
    """Run the autoscaler with the variables that the chart gives it, until the block ends."""
    rendered = environment(one(release.objects, "Deployment", AUTOSCALER))
    given = {
        **{name: each for name, each in rendered.items() if "DATABASE" not in name},
        "FAIRLEAD_DATABASE_URL": database_url,
        "FAIRLEAD_NAMESPACE": release.namespace,
        "FAIRLEAD_POD_NAME": "autoscaler-0",
        "FAIRLEAD_POD_UID": "uid-of-autoscaler-0",
        "FAIRLEAD_HEALTH_PORT": str(port),
        "FAIRLEAD_HEALTH_HOST": "127.0.0.1",
        "FAIRLEAD_TICK_SECONDS": "1",
        "FAIRLEAD_LOG_FORMAT": "json",
    }
    kubeconfig = release.kubeconfig(folder)
    command = [sys.executable, "-m", "fairlead_autoscaler.main", f"--kubeconfig={kubeconfig}"]
    with (folder / "log").open("w") as log:
        running = subprocess.Popen(command, env={**os.environ, **given}, stderr=log)
        try:
            yield Program(release, folder, port)
        finally:
            running.kill()
            running.wait()
