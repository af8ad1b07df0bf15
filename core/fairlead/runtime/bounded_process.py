"""Bounds on a process that calculates beside a service, so that it takes little from it."""

import os
import resource

from fairlead.runtime.parent_death import die_with_parent


def bound(*, memory_bytes: int, cpu_seconds: int, niceness: int = 19) -> None:
    """Bound this process, which also ends with the thread that started it.

    What it becomes by `exec` keeps the bounds.

    Args:
        memory_bytes: Of address space; beyond it an allocation fails.
        cpu_seconds: After these the kernel kills it.
        niceness: How far behind others it stands for a processor; 19 is last.
    """
    die_with_parent()
    os.nice(niceness)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
