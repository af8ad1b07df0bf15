"""The policy: how queues and tenants share the workers, as one YAML document.

`parse` reads a document and refuses a bad one with a sentence; `digest` names what it says. All
of it is pure: no file, no database.
"""

from fairlead.policy.backlog import Backlog
from fairlead.policy.bands import Band
from fairlead.policy.canon import canonical, digest, hash_of
from fairlead.policy.concurrency import Concurrency
from fairlead.policy.doubts import doubts
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
from fairlead.policy.pools import Pool
from fairlead.policy.reading import DOCUMENT_BYTES_MAX, parse
from fairlead.policy.refusal import PolicyRefused
from fairlead.policy.rules import Rule, RuleMatch, name_of
from fairlead.policy.shadow import Shadow
from fairlead.policy.slots import ShortReserve, Slots

__all__ = [
    "DOCUMENT_BYTES_MAX",
    "Backlog",
    "Band",
    "Concurrency",
    "Estimator",
    "Fairness",
    "Glob",
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
    "canonical",
    "digest",
    "doubts",
    "glob",
    "hash_of",
    "name_of",
    "parse",
]
