"""What to give to Kubernetes where the policy is edited in a ConfigMap."""

import json
import re
from dataclasses import dataclass
from textwrap import indent

_PLACE = re.compile(r"the ConfigMap ([a-z0-9.-]+) in the namespace ([a-z0-9-]+)")
_FILE = "policy-patch.yaml"


@dataclass(frozen=True, slots=True)
class Manifest:
    """A file, and the command that applies it."""

    file: str
    text: str
    command: str


def manifest(document: str, place: str) -> Manifest:
    """Return the patch with a document for the place that the autoscaler has named."""
    found = _PLACE.fullmatch(place)
    name, namespace = found.groups() if found else ("NAME", "NAMESPACE")
    return Manifest(
        file=_FILE,
        text=f"data:\n  policy.yaml: {_value(document)}\n",
        command=f"kubectl patch configmap {name} --namespace {namespace} --type=merge "
        f"--patch-file={_FILE}",
    )


def _value(document: str) -> str:
    """Return a text as YAML, line by line where YAML can say it so."""
    lines = document.removesuffix("\n")
    is_plain = (
        all(each.isprintable() or each in "\n\t" for each in lines)
        and lines == lines.strip("\n")
        and lines[:1] not in ("", " ", "\t")
    )
    if not is_plain:
        return json.dumps(document)
    sign = "|" if document.endswith("\n") else "|-"
    return f"{sign}\n{indent(lines, '    ')}"
