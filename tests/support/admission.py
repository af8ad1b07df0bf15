"""An API server that refuses a release's Lease, by an admission policy."""

import json
from collections.abc import Generator
from contextlib import contextmanager

from tests.support.chart import Object
from tests.support.cluster import CommandFailed, Release
from tests.support.waiting import until

SAID = "only service accounts make Leases here"
"""What the API server says to whoever else tries."""

_GROUP = "admissionregistration.k8s.io/v1"
_COMES_SECONDS = 60.0
_LEASE: Object = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"name": "tried"},
}


@contextmanager
def leases_refused(release: Release) -> Generator[None]:
    """Let nobody but service accounts make a Lease in the release's namespace, for a while.

    Kubernetes has such policies from 1.30 on. Any service account passes: what the
    autoscaler's may do is a matter of its Role.
    """
    policy, binding = _objects(release.namespace)
    listed: Object = {"apiVersion": "v1", "kind": "List", "items": [policy, binding]}
    given = json.dumps(listed)
    release.kubectl("create", "--filename=-", given=given)
    try:
        until(
            lambda: _refuses(release),
            what="the admission policy's first refusal",
            seconds=_COMES_SECONDS,
        )
        yield
    finally:
        release.kubectl("delete", "--filename=-", given=given)


def _refuses(release: Release) -> bool:
    """Return whether the policy is in force; the API server takes a moment to read it."""
    try:
        words = ("create", "--dry-run=server", "--filename=-")
        release.kubectl(*words, given=json.dumps(_LEASE))
    except CommandFailed as error:
        return SAID in str(error)
    return False


def _objects(namespace: str) -> tuple[Object, Object]:
    name = f"{namespace}-leases"
    policy: Object = {
        "apiVersion": _GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": ["coordination.k8s.io"],
                        "apiVersions": ["*"],
                        "operations": ["CREATE"],
                        "resources": ["leases"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": (
                        "request.userInfo.username.startsWith('system:serviceaccount:')"
                    ),
                    "message": SAID,
                }
            ],
        },
    }
    binding: Object = {
        "apiVersion": _GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
            },
        },
    }
    return policy, binding
