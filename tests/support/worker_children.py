"""The children of a worker that run jobs, among its processes."""

from fairlead_cli.dev import process_table
from fairlead_worker.child import template


def children_of(pid: int) -> tuple[int, ...]:
    """Return the ids of a worker's living children, without the template that forks them."""
    found = process_table.living().values()
    return tuple(
        each.pid for each in found if each.parent == pid and each.name != template.NAME
    )
