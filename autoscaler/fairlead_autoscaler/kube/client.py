"""One way to the API server: JSON over the client library's connections, each call in time.

The library finds the server, its certificate and a token that is read again as it rotates, and
keeps the connections. Its two majors answer with models of different kinds, which neither is
needed nor fits into the memory that the controller may take: here bytes come back, and `wire`
reads from them what is wanted.
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
"""How long an answer may take in all, unless the caller says less."""
WRITE_SECONDS = 4.0
"""The same of what only a leader may write: as much as a Lease outlives the trust in it."""

_CHUNK_BYTES = 65536
_ANSWER_BYTES_MAX = 64 * 2**20
_SENTENCE_MAX = 300
_CONNECTIONS = 64
"""Kept open between calls; each watch holds one."""


@dataclass(frozen=True, slots=True)
class Client:
    """An API server and how to be let in; any thread may call it."""

    pool: PoolManager
    host: str
    authorization: Callable[[], str | None]
    """What to say of ourselves, asked anew before each call; None: a certificate says it."""

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
            method: Of HTTP.
            path: From the server's root.
            query: What stands behind it.
            body: What is sent, as JSON; None: nothing.
            content_type: Which kind of patch it is, if it is one.
            seconds: For all of it. A server that answers a byte at a time gets no more.

        Raises:
            KubeError: As `port` says; nothing is tried twice here.
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
        """Begin an answer without an end, such as a watch's.

        Args:
            path: From the server's root.
            query: What stands behind it.
            silence_seconds: After how long without a byte the connection counts as dead.

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
        said = f"{method} {path}"
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
            raise UnreachableError(f"{said}: {_in_short(str(error))}") from error
        if response.status >= 300:
            raise _refusal(response, said)
        return response


class Stream:
    """The lines of an answer that goes on.

    Whoever reads it closes it; `interrupt` wakes the reader from any other thread.
    """

    def __init__(self, response: "BaseHTTPResponse") -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        """Yield each line; the end is one that the server meant.

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
        """Let whoever waits for a line get an error instead; again and afterwards: nothing."""
        with suppress(HTTPError, OSError, RuntimeError, ValueError):
            self._response.shutdown()

    def close(self) -> None:
        """Let go of the connection, which is not used again."""
        self._response.close()


def loaded(kubeconfig: str | None = None) -> tuple[Client, str]:
    """Return the way to the cluster that this process belongs to, and its namespace.

    Args:
        kubeconfig: A file's path, or several with colons between; None: the pod's own account.

    Raises:
        KubeError: The process is in no pod, or the file says no cluster; the sentence says it.
    """
    configuration, namespace = config.load(kubeconfig)
    return of(configuration), namespace


def of(configuration: Configuration) -> Client:
    """Return the way to the server that a configuration of the library says."""
    configuration.connection_pool_maxsize = _CONNECTIONS
    pool = ApiClient(configuration).rest_client.pool_manager

    def authorization() -> str | None:
        token = configuration.auth_settings().get("BearerToken")
        return cast("dict[str, str | None]", token)["value"] if token else None

    return Client(pool=pool, host=str(configuration.host), authorization=authorization)


def _chunks(response: "BaseHTTPResponse", until: float, said: str) -> Iterator[bytes]:
    size = 0
    try:
        while chunk := response.read1(_CHUNK_BYTES):
            size += len(chunk)
            if monotonic() > until or size > _ANSWER_BYTES_MAX:
                response.close()
                raise UnreachableError(f"{said}: the answer was too slow or too long")
            yield chunk
    except (HTTPError, HTTPException, OSError, ValueError) as error:
        raise UnreachableError(f"{said}: {_in_short(str(error))}") from error


def _refusal(response: "BaseHTTPResponse", said: str) -> KubeError:
    """Return the error that a status above 299 means."""
    try:
        text = _message(b"".join(_chunks(response, monotonic() + CONNECT_SECONDS, said)))
    except UnreachableError:
        text = ""
    finally:
        response.release_conn()
    sentence = f"{said}: {response.status} {_in_short(text) or response.reason or ''}".strip()
    if response.status == 429:
        after = response.headers.get("Retry-After", "")
        return BusyError(sentence, after_seconds=float(after) if after.isdigit() else 0.0)
    if response.status >= 500 or response.status == 408:
        return UnreachableError(sentence)
    known = {401: ForbiddenError, 403: ForbiddenError, 404: NotFoundError, 409: ConflictError}
    return known.get(response.status, RefusedError)(sentence)


def _message(body: bytes) -> str:
    try:
        answer = cast("Json", json.loads(body))
    except ValueError:
        return body.decode(errors="replace")
    said = answer.get("message") if isinstance(answer, dict) else None
    return said if isinstance(said, str) else ""


def _in_short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SENTENCE_MAX else line[: _SENTENCE_MAX - 1] + "…"
