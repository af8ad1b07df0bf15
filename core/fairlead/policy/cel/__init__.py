"""CEL, the Common Expression Language: a part of it whose time is bounded by its length."""

from fairlead.policy.cel.compiler import (
    BYTES_MAX,
    DEPTH_MAX,
    PARTS_MAX,
    Expression,
    compiled,
)
from fairlead.policy.cel.operators import (
    BOOL,
    DOUBLE,
    INT,
    STRING,
    TEXTS,
    Fault,
    Scope,
)
from fairlead.policy.cel.tokens import Unfit

__all__ = [
    "BOOL",
    "BYTES_MAX",
    "DEPTH_MAX",
    "DOUBLE",
    "INT",
    "PARTS_MAX",
    "STRING",
    "TEXTS",
    "Expression",
    "Fault",
    "Scope",
    "Unfit",
    "compiled",
]
