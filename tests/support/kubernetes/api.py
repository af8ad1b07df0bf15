"""An API server for tests: objects of a namespace over HTTP, with watches, versions and faults.

It knows what the controller relies on and refuses what a real one refuses: writes at an older
version, watches from a forgotten one, an event without its time, a name that ends in a dot. It
records every request with the right that it needs. Watches can be made half-open: they stay
connected and say nothing any more, not even their end.
"""

import json
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import monotonic
from typing import cast

from fairlead.jsontext import Json
from fairlead_autoscaler.kube import client, config
from tests.support.kubernetes import rights
from tests.support.kubernetes.faults import Fault, Faults
from tests.support.kubernetes.objects import Object, part
from tests.support.kubernetes.store import Change, RefusalError, Store, merged, selects

_MICROS = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
_EVENT_FIELDS = ("reportingController", "reportingInstance", "action", "reason", "type")
APPLY = "application/apply-patch+yaml"


@dataclass
class Api:
    """The server's side: what the test arranges, and what it sees."""

    store: Store = field(default_factory=Store)
    faults: Faults = field(default_factory=Faults)
    asked: list[rights.Right] = field(default_factory=list[rights.Right])
    silenced: int = 0
    """Watches that were begun before the version of the silence say nothing any more."""
    host: str = ""
    bookmark_seconds: float = 60.0

    def silence(self) -> None:
        """Make every watch that is open now half-open."""
        with self.store.moved:
            self.silenced += 1
            self.store.moved.notify_all()

    def client(self) -> client.Client:
        """Return a client of this server, made by the library that is installed."""
        configuration = config.blank()
        configuration.host = self.host
        configuration.api_key["BearerToken"] = "Bearer test"
        return client.from_configuration(configuration)

    def rights(self) -> set[rights.Right]:
        """Return every right that was needed so far."""
        return set(self.asked)


@contextmanager
def running(api: Api | None = None) -> Generator[Api]:
    """Run a server on a free port of loopback while inside."""
    api = api or Api()

    class Handler(_Handler):
        pass

    Handler.api = api
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api.host = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.faults.over.set()
        with api.store.moved:
            api.store.moved.notify_all()
        server.shutdown()
        server.socket.close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: Api

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PUT(self) -> None:
        self._serve("PUT")

    def do_PATCH(self) -> None:
        self._serve("PATCH")

    def do_DELETE(self) -> None:
        self._serve("DELETE")

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing: a test's output is the test's."""

    def _serve(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = cast("Object", json.loads(self.rfile.read(length))) if length else {}
        with suppress(BrokenPipeError, ConnectionResetError):
            try:
                asked = rights.asked(method, self.path)
                self.api.asked.append(asked.right)
                fault = self.api.faults.take(asked.right)
                if not self._broken(fault):
                    self._answer(method, asked, body, fault)
            except RefusalError as refusal:
                self._refuse(refusal.code, refusal.message)
            except ValueError as error:
                self._refuse(400, str(error))

    def _broken(self, fault: Fault | None) -> bool:
        """Apply a fault that stops a request; return whether it is answered."""
        if fault is None or fault.kind in {"lost", "trickle", "cut", "strange"}:
            return False
        if fault.kind == "hang":
            self._hang()
        else:
            self._refuse(fault.code, "the test says so", retry_after=fault.retry_after)
        return True

    def _hang(self) -> None:
        self.api.faults.over.wait(60)
        self.close_connection = True

    def _answer(
        self, method: str, asked: rights.Asked, body: Object, fault: Fault | None
    ) -> None:
        if asked.right.verb == "watch":
            self._watch(asked, cut=fault is not None)
            return
        answer = self._carried_out(method, asked, body)
        raw = json.dumps(answer).encode()
        if fault is not None and fault.kind == "lost":
            self._hang()
            return
        if fault is not None and fault.kind == "strange":
            raw, fault = b"<html>It works!</html>", None
        self.send_response(201 if method == "POST" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if fault is not None and fault.kind == "cut":
            self.wfile.write(raw[: len(raw) // 2])
            self.close_connection = True
        elif fault is not None:
            for byte in raw:
                self.wfile.write(bytes([byte]))
                if self.api.faults.over.wait(0.05):
                    return
        else:
            self.wfile.write(raw)

    def _carried_out(self, method: str, asked: rights.Asked, body: Object) -> Json:
        store, here, name = self.api.store, asked.collection, asked.name
        if method == "PATCH":
            return self._patched(asked, body)
        if method == "POST":
            if asked.right.resource == "events":
                _validate_event(body)
            return store.create(here, body)
        if method == "PUT":
            return store.replace(here, name, body, whole=asked.subresource != "status")
        if method == "DELETE":
            return store.delete(here, name)
        if name:
            found = store.get(here, name)
            return _scale(found) if asked.subresource == "scale" else found
        items, version, more = store.listed(here, dict(asked.query))
        metadata: Object = {"resourceVersion": str(version), "continue": more}
        return {"metadata": metadata, "items": cast("list[Json]", items)}

    def _patched(self, asked: rights.Asked, body: Object) -> Json:
        store = self.api.store
        found = store.get(asked.collection, asked.name)
        kind = self.headers.get("Content-Type")
        version = part(body, "metadata").pop("resourceVersion", None)
        if version is not None:
            store.expect(found, str(version))
        owner = asked.query.get("fieldManager", "")
        if kind == APPLY and not owner:
            raise RefusalError(400, "fieldManager is required for apply patch")
        if asked.subresource == "scale":
            part(found, "spec")["replicas"] = part(body, "spec").get("replicas", 0)
            part(found, "metadata")["generation"] = (
                int(str(part(found, "metadata")["generation"])) + 1
            )
            _own(found, owner, applied=kind == APPLY)
            return _scale(store.put(asked.collection, asked.name, found))
        if kind == APPLY and "data" in body:
            found["data"] = {}
        whole = cast("Object", merged(found, cast("Json", body)))
        return store.put(asked.collection, asked.name, whole)

    def _watch(self, asked: rights.Asked, *, cut: bool) -> None:
        """Show the changes after a version until the time is over, or until silenced."""
        store, query = self.api.store, dict(asked.query)
        version, silenced = int(query["resourceVersion"]), self.api.silenced
        if version < store.forgotten:
            raise RefusalError(410, "too old resource version")
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        until = monotonic() + float(query.get("timeoutSeconds", "300"))
        marked = monotonic()
        while not self.api.faults.over.is_set():
            due = min(until, marked + self.api.bookmark_seconds)
            news, upto = self._news(asked.collection, version, silenced, due)
            if self.api.silenced != silenced:
                self._hang()
                return
            if version < store.forgotten:
                self._line("ERROR", b'{"kind":"Status","code":410,"message":"too old"}')
                break
            if cut and news:
                self.wfile.write(b"40\r\n{")
                self.close_connection = True
                return
            self._show(query, news)
            version = upto
            if monotonic() >= due:
                marked = monotonic()
                mark = json.dumps({"metadata": {"resourceVersion": str(version)}})
                self._line("BOOKMARK", mark.encode())
            if monotonic() >= until:
                break
        self.wfile.write(b"0\r\n\r\n")

    def _news(
        self, collection: str, version: int, silenced: int, due: float
    ) -> tuple[list[Change], int]:
        """Return what has changed since a version, as soon as something has, or when due."""
        store = self.api.store
        with store.moved:
            while (
                self.api.silenced == silenced
                and version >= store.forgotten
                and not self.api.faults.over.is_set()
            ):
                news = [each for each in store.changes[collection] if each.version > version]
                if news or monotonic() >= due:
                    return news, store.version
                store.moved.wait(due - monotonic())
            return [], version

    def _show(self, query: dict[str, str], news: list[Change]) -> None:
        for each in news:
            if selects(query, each.name, each.labels):
                self._line(each.kind, each.line)

    def _line(self, kind: str, made: bytes) -> None:
        line = b'{"type":"%s","object":%s}\n' % (kind.encode(), made)
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def _refuse(self, code: int, message: str, *, retry_after: str = "") -> None:
        raw = json.dumps({"kind": "Status", "code": code, "message": message}).encode()
        self.send_response(code)
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def _scale(found: Object) -> Object:
    metadata, replicas = part(found, "metadata"), part(found, "spec").get("replicas", 1)
    kept: Object = {key: metadata.get(key) for key in ("name", "uid", "resourceVersion")}
    spec: Object = {"replicas": replicas} if replicas else {}
    return {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": kept, "spec": spec}


def _own(found: Object, owner: str, *, applied: bool) -> None:
    """Make an applier the owner of `replicas`; a merge patch takes it from every manager."""
    entry: Object = {
        "manager": owner,
        "operation": "Apply",
        "subresource": "scale",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }
    part(found, "metadata")["managedFields"] = [entry] if applied else []


def _validate_event(event: Object) -> None:
    missing = [each for each in _EVENT_FIELDS if not event.get(each)]
    if missing or not _MICROS.match(str(event.get("eventTime"))):
        raise RefusalError(422, f"Event is invalid: {missing or 'eventTime'}")
    if len(str(event.get("note", "")).encode()) > 1024:
        raise RefusalError(422, "note: can have at most 1024 bytes")
