"""Kubernetes' own API server and its store, without a node: what they keep is kept for real.

Nothing runs the objects: no controller makes pods of a Deployment, and nothing is ever ready.
"""

import json
import os
import secrets
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import cast

import pytest
import yaml

from fairlead_cli.dev.ports import free_port
from tests.support.chart import Json, Object
from tests.support.databases import fast_folder
from tests.support.waiting import until

ASSETS = Path(os.environ.get("KUBEBUILDER_ASSETS") or "/usr/local/kubebuilder/bin")
_START_SECONDS = 100

_missing = [name for name in ("etcd", "kube-apiserver") if not (ASSETS / name).exists()]
_missing += [name for name in ("openssl",) if not shutil.which(name)]
needs_api_server = pytest.mark.skipif(
    bool(_missing),
    reason=f"{' and '.join(_missing)} not here: set KUBEBUILDER_ASSETS to the folder with "
    "etcd and kube-apiserver, as setup-envtest prints it",
)


@dataclass(frozen=True, slots=True)
class Api:
    """An API server, and who its administrator is."""

    port: int
    token: str
    authority: Path
    kubeconfig: Path

    def ask(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        content_type: str = "application/json",
        account: str = "",
    ) -> tuple[int, Object]:
        """Return the status and the answer; the administrator impersonates `account`."""
        trust = ssl.create_default_context(cafile=str(self.authority))
        server = HTTPSConnection("127.0.0.1", self.port, timeout=30, context=trust)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content_type}
        if account:
            headers["Impersonate-User"] = account
        with closing(server):
            text = None if body is None else json.dumps(body)
            server.request(method, path, text, headers)
            answer = server.getresponse()
            said = answer.read().decode()
        try:
            return answer.status, cast("Object", json.loads(said))
        except ValueError:
            return answer.status, {"said": said}


@contextmanager
def running() -> Generator[Api]:
    """Start an API server on loopback and yield it, to its administrator."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="fairlead-test-", dir=fast_folder()))
        stack.callback(shutil.rmtree, folder)
        token = secrets.token_hex()
        store, peer, port = free_port(), free_port(), free_port()
        _keys(folder)
        (folder / "tokens").write_text(f'{token},admin,admin,"system:masters"\n')
        etcd = _etcd(folder, store, peer)
        server = _server(folder, store, port)
        stack.enter_context(_program(etcd, folder))
        process = stack.enter_context(_program(server, folder))
        authority = folder / "certificates/apiserver.crt"
        kubeconfig = _kubeconfig(folder, port, token, authority)
        api = Api(port, token, authority, kubeconfig)
        until(
            lambda: process.poll() is not None or _ready(api),
            what="the API server's start",
            seconds=_START_SECONDS,
        )
        assert process.poll() is None, (folder / "kube-apiserver.log").read_text()
        yield api


def _etcd(folder: Path, port: int, peer: int) -> list[str]:
    own = f"http://127.0.0.1:{port}"
    return [
        *(str(ASSETS / "etcd"), f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync"),
        *(f"--listen-client-urls={own}", f"--advertise-client-urls={own}"),
        *(f"--listen-peer-urls=http://127.0.0.1:{peer}", "--log-level=error"),
    ]


def _server(folder: Path, store: int, port: int) -> list[str]:
    """Return the command; the plugin left out wants a controller that makes accounts."""
    return [
        *(str(ASSETS / "kube-apiserver"), f"--etcd-servers=http://127.0.0.1:{store}"),
        *("--bind-address=127.0.0.1", f"--secure-port={port}"),
        *(f"--cert-dir={folder / 'certificates'}", f"--token-auth-file={folder / 'tokens'}"),
        *("--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/24"),
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts.pub'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--disable-admission-plugins=ServiceAccount",
    ]


@contextmanager
def _program(command: Sequence[str], folder: Path) -> Generator[subprocess.Popen[bytes]]:
    """Run a program until the block ends; nothing of it is worth an orderly end."""
    with (folder / f"{Path(command[0]).name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _ready(api: Api) -> bool:
    try:
        return api.authority.exists() and api.ask("GET", "/readyz")[0] == 200
    except (OSError, HTTPException):
        return False


def _keys(folder: Path) -> None:
    """Make the keys that tokens of accounts are signed with."""
    private, public = folder / "accounts.key", folder / "accounts.pub"
    for command in (
        ("openssl", "genrsa", "-out", private, "2048"),
        ("openssl", "rsa", "-in", private, "-pubout", "-out", public),
    ):
        subprocess.run(command, check=True, capture_output=True)


def _kubeconfig(folder: Path, port: int, token: str, authority: Path) -> Path:
    path = folder / "kubeconfig"
    server = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority": str(authority),
    }
    found = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": server}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(found))
    return path
