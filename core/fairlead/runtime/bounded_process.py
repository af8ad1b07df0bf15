"""Bounds on a process that calculates beside a service, so that it takes nothing from it."""

import os
import resource

from fairlead.runtime.parent_death import die_with_parent


def bound(*, memory_bytes: int, cpu_seconds: int) -> None:
    """Bound this process: it runs last, within limits, and no longer than who started it.

    What it becomes by `exec` keeps the bounds.

    Args:
        memory_bytes: Of address space; beyond it an allocation fails.
        cpu_seconds: After these the kernel kills it.
    """
    die_with_parent()
    os.nice(19)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
