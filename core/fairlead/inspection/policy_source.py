"""Where the policy is edited, and why nobody stores it from elsewhere."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead import ownership
from fairlead.inspection.rows import ask

if TYPE_CHECKING:
    from fairlead.db.connect import Connection


@dataclass(frozen=True, slots=True)
class PolicySource:
    """Where the policy is edited, as the autoscaler has noted it."""

    is_configmap: bool
    """Whether the autoscaler stores it from the cluster, over what is stored by hand."""
    place: str
    """Where in the cluster, for people; may be empty."""


def policy_source(connection: "Connection") -> PolicySource:
    """Return where the policy is edited."""
    (row,) = ask(connection, "policy_source")
    return PolicySource(row["source"] == "configmap", str(row["place"]))


def storing_refusal(connection: "Connection", release: str) -> str:
    """Return why nobody of a release is to store a policy by hand; empty: they may.

    The policy may be another release's, or come from a ConfigMap, whose next change would
    replace what is stored.
    """
    owner = ownership.owner_of(connection)
    if owner not in ("", release):
        return ownership.policy_refusal(owner, release)
    source = policy_source(connection)
    if not source.is_configmap:
        return ""
    place = source.place or "the release's ConfigMap of the policy"
    whose = f" of the release {owner}" if owner else ""
    return (
        f"the policy{whose} is edited in {place}, from where the autoscaler would store it "
        "again in place of this one: edit `policy.yaml` there, or give the release "
        "`policy.source=database`"
    )
