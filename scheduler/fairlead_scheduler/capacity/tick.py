"""How long the leader rests between two ticks."""

_FEW_JOBS = 2


_SHARE_FOR_FEW = 0.5


def tick_share(*, jobs: int, free: int) -> float:
    """Return what part of a tick to rest after a plan that dispatched so many jobs.

    Half a tick while few jobs come and slots are free: the tick is nearly all of their wait.
    Where many share a plan, or all slots are taken, a shorter tick gains nothing.

    Args:
        jobs: What the plan dispatched.
        free: Slots that hold nothing.
    """
    return _SHARE_FOR_FEW if jobs <= _FEW_JOBS <= free else 1.0
