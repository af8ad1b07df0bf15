"""Why a document is refused: one sentence with the field, its value and the fix."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from fairlead.policy.document import Document, Path
from fairlead.policy.value_types import display, shortened

_NAME = re.compile(r"[\w-]{1,40}")
_MANIFEST = frozenset({"apiVersion", "kind", "metadata", "data"})
"""Fields of a ConfigMap, which may be around a policy."""
_KEY = "[key]"
"""Pydantic appends this to the path when a mapping's key itself is wrong."""


class PolicyRefused(Exception):
    """A document is not a valid policy; the sentence says where, why and what to do.

    Args:
        message: The sentence.
        line: Of the document, from 1, where it is known.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def refusal(error: ValidationError, document: Document) -> PolicyRefused:
    """Return what is said of the first field that is wrong."""
    first = error.errors(include_url=False)[0]
    return refused(document.known(_path(first)), _message(first), document)


def refused(path: Path, message: str, document: Document) -> PolicyRefused:
    """Return the refusal for one field, with its line."""
    where = field(path)
    return PolicyRefused(
        f"{where}{': ' if where else 'the document '}{message}{document.at(path)}",
        document.line(path),
    )


def field(path: Path) -> str:
    """Return a path as text: queues[0].tenants.default.weight."""
    written = ""
    for part in path:
        if isinstance(part, int):
            written += f"[{part}]"
        elif _NAME.fullmatch(part):
            written += f".{part}" if written else part
        else:
            written += f"['{shortened(part)}']"
    return written


def _path(error: ErrorDetails) -> Path:
    context = error.get("ctx", {})
    within = cast("Path", context.get("at", ()))
    path = (*(part for part in error["loc"] if part != _KEY), *within)
    return (*path, str(context["field"])) if error["type"] == "unknown" else path


def _message(error: ErrorDetails) -> str:
    context = error.get("ctx", {})
    given = display(error["input"])
    message: Mapping[str, str] = {
        "refused": str(context.get("message")),
        "value_error": str(context.get("error")),
        "missing": "is missing: give it",
        "too_short": "is empty: name one at least, or leave the whole entry out",
        "too_long": f"has more than {context.get('max_length')} entries: leave some out",
        "tuple_type": f"must be a list, not {given}",
        "mapping_type": f"must be a mapping, not {given}",
        "dict_type": f"must be a mapping, not {given}",
    }
    if error["type"] == "unknown":
        return _unknown(str(context["field"]), context["known"])
    return message.get(error["type"]) or f"{error['msg']}, not {given}"


def _unknown(name: str, known: Sequence[str]) -> str:
    if name in _MANIFEST and "rules" in known:
        return "there is no such field; of a ConfigMap give what is under its policy.yaml"
    near = get_close_matches(name[:100], known, n=1)
    if near:
        return f"there is no such field; did you mean {near[0]}?"
    return f"there is no such field; there are {', '.join(known)}"
