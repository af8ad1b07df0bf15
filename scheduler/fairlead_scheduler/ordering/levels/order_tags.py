"""How large order tags may become, and when they are numbered anew.

Tags grow with service over weight: two thousand slots under weight .001 pass 2^60 in a week. In
memory they are Python's integers, which have no end; `work_queue` has 64 bits. So tags are
numbered from 0 again at a take-over, and a leader whose tags are large ends its term for it.
"""

TAG_MAX = 1 << 62
"""The largest tag that is written. Larger ones are written as this one: their rows are claimed
after all others, in the order of their ids."""
TAG_LARGE = 1 << 60
"""A leader whose virtual time or floor has reached this ends its term."""
TAG_RENUMBERED = TAG_LARGE >> 1
"""From this floor on a take-over numbers anew. It is less, so that a term that ended for it is
followed by one that begins at 0."""
TAGS_AHEAD_MAX = 1 << 54
"""How far above the floor a row may wait: 570 years of a slot for weight 1, and 200 days for
weight .001. Renumbering sets rows further ahead back to it."""


def are_large(virtual: int, floor: int, raised_by: int = 0) -> bool:
    """Whether a (pool, band) is to be numbered anew, by its virtual time and its floor."""
    return max(virtual, floor) + raised_by >= TAG_LARGE


def is_far_ahead(tag: int, floor: int) -> bool:
    """Whether a waiting row is so far above the floor that its tag tells nothing.

    It was locked while its (pool, band) was renumbered, and has an old number.
    """
    return tag > floor + TAGS_AHEAD_MAX
