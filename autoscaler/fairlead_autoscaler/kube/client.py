"""The HTTP client of the API server: JSON over the library's connections, with time limits.

The library finds the server, its certificate and a token that is re-read as it rotates, and
pools the connections. Its two majors return models of different types, which we do not need and
which exceed the controller's memory: here bytes come back, and `models` reads the fields that
are used.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from time import monotonic
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlencode

from kubernetes.client import ApiClient, Configuration
from urllib3 import PoolManager, Timeout
from urllib3.exceptions import HTTPError

from fairlead_autoscaler.kube import config
from fairlead_autoscaler.kube.port import (
    BusyError,
    ConflictError,
    ForbiddenError,
    KubeError,
    NotFoundError,
    RefusedError,
    UnreachableError,
)

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

    from fairlead.jsontext import Json

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

APPLY = "application/apply-patch+yaml"
"""Server-side apply; JSON is YAML."""
MERGE = "application/merge-patch+json"

CONNECT_SECONDS = 3.0
CALL_SECONDS = 10.0
"""Time limit of a whole answer, unless the caller gives less."""
WRITE_SECONDS = 4.0
"""The same for leader-only writes: as long as a Lease outlives the trust in it."""

_CHUNK_BYTES = 65536
_ANSWER_BYTES_MAX = 64 * 2**20
_SENTENCE_MAX = 300
_CONNECTIONS = 64
"""Kept open between calls; each watch occupies one."""


@dataclass(frozen=True, slots=True)
class Client:
    """An API server and its credentials; any thread may call it."""

    pool: PoolManager
    host: str
    authorization: Callable[[], str | None]
    """Returns the header, read anew before each call; None: a certificate authenticates."""

    def call(
        self,
        method: Method,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: "Json" = None,
        content_type: str = "application/json",
        seconds: float = CALL_SECONDS,
    ) -> bytes:
        """Return the answer's body.

        Args:
            method: The HTTP method.
            path: From the server's root.
            query: The query parameters.
            body: What is sent, as JSON; None: nothing.
            content_type: The kind of patch, if it is one.
            seconds: Time limit of the whole answer, also one that trickles in.

        Raises:
            KubeError: As `port` says; nothing is retried here.
        """
        until = monotonic() + seconds
        timeout = Timeout(total=seconds, connect=min(CONNECT_SECONDS, seconds))
        response = self._open(method, path, query or {}, body, content_type, timeout)
        try:
            return b"".join(_chunks(response, until, f"{method} {path}"))
        finally:
            response.release_conn()

    def stream(
        self, path: str, query: Mapping[str, str], *, silence_seconds: float
    ) -> "Stream":
        """Begin an endless answer, such as a watch's.

        Args:
            path: From the server's root.
            query: The query parameters.
            silence_seconds: After this long without a byte the connection counts as dead.

        Raises:
            KubeError: The server does not begin to answer.
        """
        timeout = Timeout(connect=CONNECT_SECONDS, read=silence_seconds)
        return Stream(self._open("GET", path, query, None, "application/json", timeout))

    def _open(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str],
        body: "Json",
        content_type: str,
        timeout: Timeout,
    ) -> "BaseHTTPResponse":
        headers = {"Accept": "application/json", "User-Agent": "fairlead-autoscaler"}
        if body is not None:
            headers["Content-Type"] = content_type
        request = f"{method} {path}"
        try:
            if authorization := self.authorization():
                headers["Authorization"] = authorization
            response = self.pool.request(
                method,
                f"{self.host}{path}{'?' if query else ''}{urlencode(query)}",
                body=None if body is None else json.dumps(body).encode(),
                headers=headers,
                timeout=timeout,
                preload_content=False,
                retries=False,
                redirect=False,
            )
        except (HTTPError, HTTPException, OSError) as error:
            raise UnreachableError(f"{request}: {_in_short(str(error))}") from error
        if response.status >= 300:
            raise _error_of(response, request)
        return response


class Stream:
    """The lines of an endless answer.

    The reader closes it; `interrupt` wakes the reader from any other thread.
    """

    def __init__(self, response: "BaseHTTPResponse") -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line, until the server ends the stream in order.

        Raises:
            UnreachableError: The connection broke, or was silent for too long.
        """
        rest = b""
        try:
            while chunk := self._response.read1(_CHUNK_BYTES):
                *lines, rest = (rest + chunk).split(b"\n")
                yield from (line for line in lines if line.strip())
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            raise UnreachableError(f"the watch broke: {_in_short(str(error))}") from error
        if rest.strip():
            raise UnreachableError("the watch broke in the middle of a line")

    def interrupt(self) -> None:
        """Make a waiting reader raise an error; a repeat or a late call does nothing."""
        with suppress(HTTPError, OSError, RuntimeError, ValueError):
            self._response.shutdown()

    def close(self) -> None:
        """Close the connection, which is not used again."""
        self._response.close()


def load(kubeconfig: str | None = None) -> tuple[Client, str]:
    """Return the client of the cluster that this process belongs to, and its namespace.

    Args:
        kubeconfig: A file's path, or several separated by colons; None: the pod's own account.

    Raises:
        KubeError: The process is in no pod, or the file names no cluster; the text says which.
    """
    configuration, namespace = config.load(kubeconfig)
    return from_configuration(configuration), namespace


def from_configuration(configuration: Configuration) -> Client:
    """Return the client of the server in a configuration of the library."""
    configuration.connection_pool_maxsize = _CONNECTIONS
    pool = ApiClient(configuration).rest_client.pool_manager

    def authorization() -> str | None:
        token = configuration.auth_settings().get("BearerToken")
        return cast("dict[str, str | None]", token)["value"] if token else None

    return Client(pool=pool, host=str(configuration.host), authorization=authorization)


def _chunks(response: "BaseHTTPResponse", until: float, request: str) -> Iterator[bytes]:
    size = 0
    try:
        while chunk := response.read1(_CHUNK_BYTES):
            size += len(chunk)
            if monotonic() > until or size > _ANSWER_BYTES_MAX:
                response.close()
                raise UnreachableError(f"{request}: the answer was too slow or too long")
            yield chunk
    except (HTTPError, HTTPException, OSError, ValueError) as error:
        raise UnreachableError(f"{request}: {_in_short(str(error))}") from error


def _error_of(response: "BaseHTTPResponse", request: str) -> KubeError:
    """Return the error for a status above 299."""
    try:
        text = _message(b"".join(_chunks(response, monotonic() + CONNECT_SECONDS, request)))
    except UnreachableError:
        text = ""
    finally:
        response.release_conn()
    sentence = (
        f"{request}: {response.status} {_in_short(text) or response.reason or ''}".strip()
    )
    if response.status == 429:
        after = response.headers.get("Retry-After", "")
        return BusyError(sentence, retry_after_seconds=float(after) if after.isdigit() else 0.0)
    if response.status >= 500 or response.status == 408:
        return UnreachableError(sentence)
    known = {401: ForbiddenError, 403: ForbiddenError, 404: NotFoundError, 409: ConflictError}
    return known.get(response.status, RefusedError)(sentence)


def _message(body: bytes) -> str:
    try:
        answer = cast("Json", json.loads(body))
    except ValueError:
        return body.decode(errors="replace")
    request = answer.get("message") if isinstance(answer, dict) else None
    return request if isinstance(request, str) else ""


def _in_short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SENTENCE_MAX else line[: _SENTENCE_MAX - 1] + "…"
