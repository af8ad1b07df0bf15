"""Variants of the product that are broken on purpose: each has to be found by some seed."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from unittest.mock import patch

from fairlead_autoscaler.decision import guards
from fairlead_autoscaler.decision.fleet import Member
from fairlead_autoscaler.decision.limits import Bounded
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.ordering.router import Router
from fairlead_scheduler.pending.tail import Tail
from fairlead_scheduler.pending.watermarks import LowWatermark, ReceiptWatermark
from fairlead_scheduler.policy.gcra import Rate, WindowUsage
from tests.simulation.database import Database

Patch = AbstractContextManager[object]
"""What `unittest.mock.patch` returns."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A defect: what it is, and what stands in the product's place."""

    name: str
    part: str
    seed: int
    """One that finds it."""
    changes: Callable[[], Sequence[Patch]]

    @contextmanager
    def in_force(self) -> Generator[None]:
        """Have the defect inside."""
        with ExitStack() as stack:
            for change in self.changes():
                stack.enter_context(change)
            yield


def _nothing(*_: object, **__: object) -> None:
    return None


_adopt, _read, _end = Router.adopt, Tail.read, Ledger.end


def _without_rows(
    self: Router,
    rows: Iterable[QueueRow],
    now_us: int,
    floors: Mapping[str, Sequence[int]],
    used: Iterable[WindowUsage] = (),
) -> None:
    del rows
    _adopt(self, (), now_us, floors, used)


def _without_holes(self: Tail, ids: Sequence[int], xmax: int, now_us: int) -> None:
    _read(self, ids, xmax, now_us)
    self._holes.clear()  # pyright: ignore[reportPrivateUsage] - the defect


def _to_the_last(self: ReceiptWatermark, ids: list[int], now_us: int) -> None:
    del now_us
    after = self._after  # pyright: ignore[reportPrivateUsage] - the defect
    self._after = max([after or 0, *ids])  # pyright: ignore[reportPrivateUsage] - the defect


def _at_the_mark(self: LowWatermark) -> int:
    return self.reached_us


def _for_nothing(self: Ledger, ids: Sequence[int], run_us: Sequence[int]) -> None:
    _end(self, ids, [0] * len(run_us))


def _marked(self: Member, now: datetime) -> bool:
    return self.is_marked(now)


def _no_rates(_: object) -> list[WindowUsage]:
    return []


def _refilled(rate: Rate, used: WindowUsage, now_us: int) -> int:
    del used
    return now_us * rate.limit


def _leads(*_: object) -> bool:
    return True


def _counts_on_none(*_: object) -> frozenset[str]:
    return frozenset()


def _zero(_: object) -> int:
    return 0


def _uncapped(pods: int, **_: object) -> Bounded:
    return Bounded(pods)


_ACTOR = "fairlead_autoscaler.controller.actor"
_DECIDE = "fairlead_autoscaler.decision"
VARIANTS = (
    Variant(
        "a new leader forgets what is in flight",
        "leader",
        1,
        lambda: (patch.object(Router, "adopt", _without_rows),),
    ),
    Variant(
        "a new leader refills the windows of rates",
        "leader",
        20,
        lambda: (patch("fairlead_scheduler.term.read_used", _no_rates),),
    ),
    Variant(
        "another policy refills the windows of rates",
        "leader",
        36,
        lambda: (
            patch(
                "fairlead_scheduler.limits.rate_usage.carry_over",
                _refilled,
            ),
        ),
    ),
    Variant(
        "ids below those that were read are never read",
        "leader",
        2,
        lambda: (patch.object(Tail, "read", _without_holes),),
    ),
    Variant(
        "a refused job is never asked about again",
        "leader",
        40,
        lambda: (patch.object(Tail, "doubt", _nothing),),
    ),
    Variant(
        "receipts below those that were taken are not taken",
        "leader",
        15,
        lambda: (patch.object(ReceiptWatermark, "record_taken", _to_the_last),),
    ),
    Variant(
        "nobody looks at the instant of what fell due before its commit",
        "leader",
        251,
        lambda: (patch.object(Requests, "promote_from", _nothing),),
    ),
    Variant(
        "no look for what is due begins below the mark",
        "leader",
        213,
        lambda: (patch.object(LowWatermark, "begin", _at_the_mark),),
    ),
    Variant(
        "a pause is not seen",
        "leader",
        13,
        lambda: (patch.object(LeaderState, "_take_pauses", _nothing),),
    ),
    Variant(
        "keys of another policy do not count what is in flight",
        "leader",
        11,
        lambda: (
            patch(
                "fairlead_scheduler.ordering.apply_policy.job_attributes.reread_in_flight",
                _nothing,
            ),
        ),
    ),
    Variant(
        "writes of a leader that is deposed are carried out",
        "leader",
        12,
        lambda: (patch.object(Database, "holds", _leads),),
    ),
    Variant(
        "nobody is charged for what a job ran",
        "leader",
        17,
        lambda: (patch.object(Ledger, "end", _for_nothing),),
    ),
    Variant(
        "a pod is removed that has been marked and still has jobs",
        "autoscaler",
        17,
        lambda: (
            patch.object(Member, "is_drained", _marked),
            patch(f"{_ACTOR}._counted_on", _counts_on_none),
        ),
    ),
    Variant(
        "no cap is applied",
        "autoscaler",
        0,
        lambda: (patch(f"{_DECIDE}.limits.capped", _uncapped),),
    ),
    Variant(
        "a pool shrinks to what it needs now",
        "autoscaler",
        0,
        lambda: (patch(f"{_DECIDE}.decide.highest", _zero),),
    ),
    Variant(
        "an old demand lowers the pods",
        "autoscaler",
        5,
        lambda: (patch.object(guards, "STALE_AFTER_SECONDS", 1e9),),
    ),
)
