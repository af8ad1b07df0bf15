"""The policy: how queues and tenants share the workers, as one YAML document.

In goes the text of a document; out comes a frozen `Policy`, or `PolicyRefused` with one
sentence that names the field, its value and the fix. `digest` identifies a policy by its
content, `find_warnings` lists what a valid policy sets without effect, and `find_unknown` what
it says of queues and tenants that a database does not have.

The package is pure: it opens no file and no connection, reads no clock and starts no thread.
It imports pydantic, PyYAML, the CEL package and, of core, only `durations` and `jsontext`.

Begin with `models` (the fields of a document) and `parser` (how one is read). `value_types`
defines numbers, durations and names; `rules` and the package `cel` define conditions.
"""

from fairlead.policy.backlog import Backlog
from fairlead.policy.bands import Band
from fairlead.policy.canonical import canonical_json, digest, hash_of
from fairlead.policy.concurrency import Concurrency
from fairlead.policy.globs import Glob, glob
from fairlead.policy.models import (
    Estimator,
    Fairness,
    Policy,
    QueueMatch,
    QueueRule,
    Rate,
    TenantMatch,
    TenantRule,
    Tenants,
    TenantTerms,
)
from fairlead.policy.parser import DOCUMENT_BYTES_MAX, parse
from fairlead.policy.pools import Pool
from fairlead.policy.refusal import PolicyRefused
from fairlead.policy.rules import Rule, RuleMatch, name_of
from fairlead.policy.shadow import Shadow
from fairlead.policy.slots import ShortReserve, Slots
from fairlead.policy.unknown_names import KnownNames, find_unknown
from fairlead.policy.warnings import find_warnings

__all__ = [
    "DOCUMENT_BYTES_MAX",
    "Backlog",
    "Band",
    "Concurrency",
    "Estimator",
    "Fairness",
    "Glob",
    "KnownNames",
    "Policy",
    "PolicyRefused",
    "Pool",
    "QueueMatch",
    "QueueRule",
    "Rate",
    "Rule",
    "RuleMatch",
    "Shadow",
    "ShortReserve",
    "Slots",
    "TenantMatch",
    "TenantRule",
    "TenantTerms",
    "Tenants",
    "canonical_json",
    "digest",
    "find_unknown",
    "find_warnings",
    "glob",
    "hash_of",
    "name_of",
    "parse",
]
