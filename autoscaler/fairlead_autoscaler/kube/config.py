"""The API server and our credentials, as the client library finds them."""

import socket
from pathlib import Path
from typing import Protocol, cast

from kubernetes import config as library
from kubernetes.client import Configuration

from fairlead_autoscaler.kube.port import KubeError

_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

_OPTIONS = (
    ("TCP_NODELAY", socket.IPPROTO_TCP, 1),
    ("SO_KEEPALIVE", socket.SOL_SOCKET, 1),
    ("TCP_KEEPIDLE", socket.IPPROTO_TCP, 15),
    ("TCP_KEEPINTVL", socket.IPPROTO_TCP, 5),
    ("TCP_KEEPCNT", socket.IPPROTO_TCP, 3),
)
"""A peer that vanished silently is detected after half a minute."""


class _Library(Protocol):
    """The part of `kubernetes.config` that is used; neither major has type hints."""

    def load_incluster_config(self, client_configuration: Configuration) -> None: ...

    def load_kube_config(
        self, config_file: str, *, client_configuration: Configuration, persist_config: bool
    ) -> None: ...

    def list_kube_config_contexts(
        self, config_file: str
    ) -> tuple[list[object], dict[str, dict[str, str]]]: ...


def load(kubeconfig: str | None = None) -> tuple[Configuration, str]:
    """Return what the library found, and the namespace that goes with it.

    Args:
        kubeconfig: A file's path, or several separated by colons; None: the pod's own account.

    Raises:
        KubeError: The process is in no pod, or the file names no cluster; the text says which.
    """
    finder = cast("_Library", library)
    configuration = blank()
    try:
        if kubeconfig is None:
            finder.load_incluster_config(configuration)
            return configuration, _NAMESPACE.read_text("utf-8").strip()
        finder.load_kube_config(
            kubeconfig, client_configuration=configuration, persist_config=False
        )
        _, active = finder.list_kube_config_contexts(kubeconfig)
        return configuration, active["context"].get("namespace") or "default"
    except (library.ConfigException, OSError) as error:
        where = "this pod's service account" if kubeconfig is None else kubeconfig
        raise KubeError(f"{where} leads to no cluster: {error}") from error


def blank() -> Configuration:
    """Return a configuration whose connections detect a peer that is gone."""
    configuration = Configuration()
    configuration.socket_options = [
        (level, number, value)
        for name, level, value in _OPTIONS
        if (number := getattr(socket, name, None)) is not None
    ]
    return configuration
