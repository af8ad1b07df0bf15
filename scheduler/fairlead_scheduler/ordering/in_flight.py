"""The leader's state of a job that it has put into `work_queue`."""

from typing import TYPE_CHECKING

from fairlead_scheduler.pending.values import AnyHead

if TYPE_CHECKING:
    from fairlead_scheduler.ordering.lanes import Lane

UNCLAIMED = -1
CLOSED = -2
AHEAD = -3


class InFlightJob:
    """A job in `work_queue`."""

    __slots__ = (
        "charged_us",
        "claimed_us",
        "head",
        "lane",
        "queue_charged_us",
        "rank",
        "root_tag",
    )

    def __init__(
        self,
        lane: "Lane",
        head: AnyHead | None,
        rank: int,
        root_tag: int,
        charged_us: int,
        queue_charged_us: int,
    ) -> None:
        self.lane = lane
        self.head = head
        self.rank = rank
        self.root_tag = root_tag
        self.charged_us = charged_us
        self.queue_charged_us = queue_charged_us
        """What its queue is charged: what jobs of its lane took, whatever this one claims."""
        self.claimed_us = UNCLAIMED
        """When a worker claimed it, or `UNCLAIMED`, or `CLOSED` once it has left
        `work_queue`; `AHEAD` while it is claimed and has no slot."""
