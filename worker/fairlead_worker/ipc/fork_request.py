"""What a worker's parent asks its template for: a child with this command line.

The two exchange packets. The template says `READY` once it can fork. A request is the child's
command line as JSON, with two descriptors beside it; the answer is the child's process id, or
-1 if none could be forked.
"""

READY = b"ready"
BYTES_MAX = 64 * 1024
DESCRIPTORS = 2


def descriptor_arguments(control: int, table: int) -> tuple[str, ...]:
    """Return the part of a child's command line that names its descriptors."""
    return "--control-fd", str(control), "--table-fd", str(table)
