"""What is behind the fake API server: objects, their versions, and what watches are shown."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from threading import Condition
from typing import cast
from uuid import uuid4

from fairlead.jsontext import Json
from tests.support.kubernetes.objects import Object, now, part


class RefusalError(Exception):
    """An answer that is an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Change:
    """One change, as watches receive it."""

    version: int
    kind: str
    line: bytes
    """The object's JSON."""
    name: str
    labels: dict[str, str]


@dataclass
class Store:
    """All objects by the path of their collection and their name, in one order of versions."""

    version: int = 100
    forgotten: int = 0
    """Watches from before this version are refused: 410."""
    objects: defaultdict[str, dict[str, Object]] = field(
        default_factory=lambda: defaultdict[str, dict[str, Object]](dict)
    )
    changes: defaultdict[str, list[Change]] = field(
        default_factory=lambda: defaultdict[str, list[Change]](list)
    )
    moved: Condition = field(default_factory=Condition)

    def forget(self) -> None:
        """Let the server forget its past: who watches from then must list anew."""
        with self.moved:
            self.version += 1
            self.forgotten = self.version
            self.changes.clear()
            self.moved.notify_all()

    def create(self, collection: str, made: Object) -> Object:
        """Store a new object."""
        with self.moved:
            metadata = part(made, "metadata")
            if "name" not in metadata:
                given = str(metadata.get("generateName", ""))
                if given.endswith("."):
                    raise RefusalError(422, f"metadata.generateName: Invalid value: {given!r}")
                metadata["name"] = f"{given}{uuid4().hex[:5]}"
            name = str(metadata["name"])
            if name in self.objects[collection]:
                raise RefusalError(409, f'"{name}" already exists')
            metadata |= {"uid": str(uuid4()), "creationTimestamp": now(), "generation": 1}
            return self.put(collection, name, made, kind="ADDED")

    def get(self, collection: str, name: str) -> Object:
        """Return an object, which is the caller's own."""
        with self.moved:
            if name not in self.objects[collection]:
                raise RefusalError(404, f'"{name}" not found')
            return cast("Object", json.loads(json.dumps(self.objects[collection][name])))

    def replace(self, collection: str, name: str, given: Object, *, whole: bool) -> Object:
        """Replace an object or its status, if it is of the version that is given, or of any."""
        with self.moved:
            here = self.get(collection, name)
            asked = part(given, "metadata").get("resourceVersion")
            if asked is not None:
                self.expect(here, str(asked))
            if not whole:
                here["status"] = given.get("status", {})
                return self.put(collection, name, here)
            for key in ("uid", "creationTimestamp", "generation", "managedFields"):
                part(given, "metadata")[key] = part(here, "metadata").get(key)
            return self.put(collection, name, given)

    def expect(self, here: Object, version: str) -> None:
        """Refuse what names another version."""
        if part(here, "metadata")["resourceVersion"] != version:
            raise RefusalError(409, "the object has been modified; please apply your changes")

    def put(
        self, collection: str, name: str, made: Object, *, kind: str = "MODIFIED"
    ) -> Object:
        """Store an object as a new version, and notify the watches."""
        with self.moved:
            self.version += 1
            part(made, "metadata")["resourceVersion"] = str(self.version)
            self.objects[collection][name] = made
            self._notify(collection, kind, made)
            return self.get(collection, name)

    def delete(self, collection: str, name: str) -> Object:
        """Delete an object."""
        with self.moved:
            gone = self.get(collection, name)
            del self.objects[collection][name]
            self.version += 1
            part(gone, "metadata")["resourceVersion"] = str(self.version)
            self._notify(collection, "DELETED", gone)
            return gone

    def listed(self, collection: str, query: dict[str, str]) -> tuple[list[Object], int, str]:
        """Return a page of a list, the version it is of, and where the next one begins."""
        with self.moved:
            here = sorted(self.objects[collection].items())
            found = [each for name, each in here if selects(query, name, labels_of(each))]
            start, version = 0, self.version
            if query.get("continue"):
                start, version = (int(each) for each in query["continue"].split("-"))
                if version < self.forgotten:
                    raise RefusalError(410, "the continue parameter is too old")
            limit = int(query.get("limit", "0")) or len(found) or 1
            more = f"{start + limit}-{version}" if start + limit < len(found) else ""
            return found[start : start + limit], version, more

    def _notify(self, collection: str, kind: str, made: Object) -> None:
        name = str(part(made, "metadata")["name"])
        line = json.dumps(made).encode()
        change = Change(self.version, kind, line, name, labels_of(made))
        self.changes[collection].append(change)
        self.moved.notify_all()


def labels_of(made: Object) -> dict[str, str]:
    """Return an object's labels."""
    return cast("dict[str, str]", part(made, "metadata").get("labels") or {})


def selects(query: dict[str, str], name: str, labels: dict[str, str]) -> bool:
    """Return whether a query's selectors take an object: equalities only."""
    required = [
        each.split("=", 1) for each in query.get("labelSelector", "").split(",") if each
    ]
    field_selector = query.get("fieldSelector", "")
    named = not field_selector or field_selector == f"metadata.name={name}"
    return named and all(labels.get(key) == value for key, value in required)


def merged(here: Json, patch: Json) -> Json:
    """Return what a merge patch makes of a value (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(here) if isinstance(here, dict) else {}
    for key, each in patch.items():
        if each is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), each)
    return result
