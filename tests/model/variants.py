"""Bugs that were fixed, and guards that were never left out: the model with each one opened."""

from tests.model import scenes
from tests.model.scenes import STUCK, Variant

_OVERLAP = "two handlers run one job"
_TAKEN = "a living worker has lost its attempt"
_STALE = "an old attempts ending is stored"
_LIMIT = "more is in flight than the limit allows"
_BELOW = "a row waits below the floor untold"
_UNKEPT = "what was confirmed is lost"
_REMOVED = "a pod goes with work"

_LEASES = "docs/explanation/worker-leases.md"
_LEADERSHIP = "scheduler/fairlead_scheduler/leadership/README.md"
_TIMELINES = "docs/adr/0061-timelines.md"
_DRAINS = "docs/adr/0034-drain-mark.md"
_COMMITS = "docs/adr/0016-asynchronous-commit-on-dispatch.md"
_FLOOR = "docs/adr/0007-hot-update-on-claim.md"

VARIANTS = (
    Variant(
        name="an-ending-without-a-token",
        scene=scenes.WORKERS.permitting("freeze"),
        breaks=_STALE,
        source=_LEASES,
    ),
    Variant(
        name="a-lease-by-the-leaders-clock",
        scene=scenes.WORKERS.permitting(),
        breaks=_OVERLAP,
        source=_LEASES,
    ),
    Variant(
        name="a-steal-from-the-living",
        scene=scenes.WORKERS.permitting("freeze"),
        breaks=_TAKEN,
        source=_LEASES,
    ),
    Variant(
        name="a-steal-without-a-token",
        scene=scenes.WORKERS.permitting("freeze", "return"),
        breaks=_TAKEN,
        source=_LEASES,
        is_long=True,
    ),
    Variant(
        name="the-dead-renew",
        scene=scenes.WORKERS.permitting("freeze"),
        breaks=_TAKEN,
        source=_LEASES,
    ),
    Variant(
        name="trust-from-the-answer-on",
        scene=scenes.WORKERS.permitting("cut", "cut"),
        breaks=_OVERLAP,
        source=_LEASES,
        is_long=True,
    ),
    Variant(
        name="no-margin",
        scene=scenes.WORKERS,
        breaks=_OVERLAP,
        source=_LEASES,
        margin=0,
    ),
    Variant(
        name="orphans-without-asking-the-children",
        scene=scenes.WORKERS.permitting("lose"),
        breaks=_TAKEN,
        source="docs/adr/0008-orphan-claims.md",
    ),
    Variant(
        name="no-look-for-orphans",
        scene=scenes.WORKERS.permitting("lose"),
        breaks=STUCK,
        source="docs/adr/0008-orphan-claims.md",
    ),
    Variant(
        name="a-recall-without-a-lock",
        scene=scenes.WORKERS.permitting("recall"),
        breaks=_TAKEN,
        source="docs/adr/0076-interleavings.md",
    ),
    Variant(
        name="claims-that-do-not-wait-for-the-disk",
        scene=scenes.CRASH,
        breaks=_UNKEPT,
        source=_COMMITS,
    ),
    Variant(
        name="endings-that-do-not-wait-for-the-disk",
        scene=scenes.CONFIRMED,
        breaks=_UNKEPT,
        source=_COMMITS,
    ),
    Variant(
        name="no-patience-after-a-start",
        scene=scenes.CRASH,
        breaks=_OVERLAP,
        source=_LEASES,
        is_long=True,
    ),
    Variant(
        name="tokens-without-a-timeline",
        scene=scenes.FAIL_OVER,
        breaks=_STALE,
        source=_TIMELINES,
    ),
    Variant(
        name="workers-without-a-timeline",
        scene=scenes.REGISTERING,
        breaks="two workers have one row",
        source=_TIMELINES,
    ),
    Variant(
        name="no-patience-after-a-take-over",
        scene=scenes.FAIL_OVER,
        breaks=_OVERLAP,
        source=_LEASES,
        is_long=True,
    ),
    Variant(
        name="epochs-without-a-timeline",
        scene=scenes.LEADERS_FAIL_OVER.permitting("fail-over", "freeze-scheduler"),
        breaks="two leaders have one epoch",
        source=_TIMELINES,
    ),
    Variant(
        name="an-epoch-outlasts-a-fail-over",
        scene=scenes.LEADERS_FAIL_OVER,
        breaks=_LIMIT,
        source=_TIMELINES,
    ),
    Variant(
        name="a-leader-without-a-fence",
        scene=scenes.LEADERS,
        breaks=_LIMIT,
        source=_LEADERSHIP,
    ),
    Variant(
        name="a-fence-without-a-lock",
        scene=scenes.LEADERS,
        breaks=_LIMIT,
        source=_LEADERSHIP,
    ),
    Variant(
        name="reading-before-the-take-over",
        scene=scenes.LEADERS,
        breaks=_LIMIT,
        source=_LEADERSHIP,
    ),
    Variant(
        name="a-floor-past-a-row-that-waits",
        scene=scenes.FLOOR,
        breaks=_BELOW,
        source=_FLOOR,
    ),
    Variant(
        name="a-floor-that-is-not-lowered",
        scene=scenes.FLOOR,
        breaks=_BELOW,
        source=_FLOOR,
    ),
    Variant(
        name="a-claim-while-draining",
        scene=scenes.DRAIN,
        breaks=_REMOVED,
        source=_DRAINS,
    ),
    Variant(
        name="a-report-with-an-old-snapshot",
        scene=scenes.DRAIN,
        breaks=_REMOVED,
        source=_DRAINS,
    ),
    Variant(
        name="a-report-that-outlives-its-mark",
        scene=scenes.DRAIN.permitting("mark", "mark"),
        breaks=_REMOVED,
        source=_DRAINS,
        is_long=True,
    ),
    Variant(
        name="a-restart-that-forgets-the-mark",
        scene=scenes.DRAIN.permitting("mark", "kill"),
        breaks=_REMOVED,
        source=_DRAINS,
        is_long=True,
    ),
)
