"""Which right a request needs, as the API server's authorizer reads it from verb and path."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

_PATH = re.compile(
    r"^/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[^/]+)/namespaces/(?P<namespace>[^/]+)"
    r"/(?P<resource>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[^/]+))?$"
)
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMED = re.compile(r"^metadata\.name=([^,]+)$")


@dataclass(frozen=True, slots=True, order=True)
class Right:
    """A verb on a resource of a group, of one name or of any."""

    verb: str
    group: str
    resource: str
    """With its subresource after a slash."""
    name: str
    """Empty: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, taken apart."""

    right: Right
    namespace: str
    collection: str
    """The path of all objects of the kind."""
    name: str
    """The object's in the path; empty: none."""
    subresource: str
    query: Mapping[str, str]


def asked(method: str, target: str) -> Asked:
    """Return what a request asks for.

    A list or a watch of one name, by a field selector, needs the right to that name alone.

    Raises:
        ValueError: It is none for objects of a namespace.
    """
    parts = urlsplit(target)
    match = _PATH.match(parts.path)
    if match is None:
        raise ValueError(f"{method} {parts.path} is not for objects of a namespace")
    query = dict(parse_qsl(parts.query))
    name, subresource = match["name"] or "", match["subresource"] or ""
    resource = f"{match['resource']}/{subresource}" if subresource else match["resource"]
    selected = _NAMED.match(query.get("fieldSelector", ""))
    verb = _VERBS.get(method) or (
        "get" if name else "watch" if query.get("watch") in {"1", "true"} else "list"
    )
    right = Right(
        verb, match["group"] or "", resource, name or (selected[1] if selected else "")
    )
    collection = parts.path
    for part in (subresource, name):
        collection = collection.removesuffix(f"/{part}") if part else collection
    return Asked(
        right=right,
        namespace=match["namespace"],
        collection=collection,
        name=name,
        subresource=subresource,
        query=query,
    )
