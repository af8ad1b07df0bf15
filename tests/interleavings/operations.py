"""The operations whose steps are interleaved, as data."""

from dataclasses import dataclass

from fairlead.db.statements import integers
from tests.interleavings.programs import (
    AFTER,
    ATTEMPTS,
    BACKGROUND,
    DEBOUNCED,
    INSERT,
    LOOP,
    OF_A_PERIOD,
    PARENT,
    REPLACING,
    TURNS,
    Play,
    acquiring,
    beginning_in_quarantine,
    checkpointing,
    claiming,
    cli,
    completing,
    deleting,
    dispatching,
    enqueueing,
    evicting,
    expired,
    failing,
    finishing,
    finishing_crossed,
    finishing_for_child,
    finishing_free,
    first,
    handing_back,
    leading,
    listed,
    pairs,
    promoted,
    recalled,
    renewing,
    renumbering,
    second,
    sent,
    simple,
    stealing,
    storing_checkpoints,
    then,
    together,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """What one side does.

    Args:
        name: in schedules that are printed.
        play: makes its program.
        alone: a leader has one thread for it, so that it never meets itself.
    """

    name: str
    play: Play
    alone: bool = False


_PAUSE: dict[str, object] = {"queue": "default", "tenant": None, "lasts": None, "until": None}
_HIGH: dict[str, object] = {"priority": 5}

OPERATIONS = (
    Operation("dispatch", dispatching(), alone=True),
    Operation("claim", claiming(lambda scene: scene.worker)),
    Operation("claim_other", claiming(lambda scene: scene.other)),
    Operation("finish", finishing),
    Operation("finish_crossed", finishing_crossed),
    Operation("finish_free", finishing_free),
    Operation("complete", completing),
    Operation(
        "release_slot",
        simple(
            lambda scene: sent(ATTEMPTS, "release", **pairs(scene.leases), run_us="{1000,1000}")
        ),
    ),
    Operation(
        "extend",
        simple(
            lambda scene: sent(ATTEMPTS, "extend", **pairs(scene.leases), seconds=[9.0, 9.0])
        ),
    ),
    Operation("checkpoint", checkpointing),
    Operation("store_checkpoints", storing_checkpoints),
    Operation("fail", handing_back("failed", "1 hour")),
    Operation("snooze", handing_back("snoozed", "0 s")),
    Operation("cut_short", handing_back("released")),
    Operation("return", handing_back("returned")),
    Operation("return_unhandled", handing_back("unhandled")),
    Operation("crash", handing_back("crashed")),
    Operation("fail_in_handler", failing),
    Operation("finish_for_child", finishing_for_child),
    Operation("quarantine", beginning_in_quarantine),
    Operation(
        "count_crashes",
        simple(lambda scene: sent(PARENT, "count_crashes", **pairs(scene.leases))),
    ),
    Operation(
        "keep_deadlines",
        simple(
            lambda scene: sent(
                PARENT, "keep_deadlines", **pairs(scene.leases), lease_seconds=15
            )
        ),
    ),
    Operation("renew", renewing),
    Operation("evict", evicting),
    Operation("steal", stealing),
    Operation("steal_and_claim", then(stealing, claiming(lambda scene: scene.other))),
    Operation(
        "mark_dead", leading("mark_dead", {"worker_lease_seconds": 0, "limit": 10}, tell=listed)
    ),
    Operation(
        "deregister",
        simple(lambda scene: sent(PARENT, "deregister", workers=integers([scene.worker]))),
    ),
    Operation("promote", leading("promote", AFTER, tell=promoted)),
    Operation("promote_turns", leading("promote_turns", TURNS, tell=promoted)),
    Operation("expire", leading("expire", AFTER, tell=expired)),
    Operation("expire_turns", leading("expire_turns", TURNS, tell=expired)),
    Operation("recall", leading("recall", {}, ids=True, tell=recalled)),
    Operation(
        "raise_tags",
        leading(
            "raise_tags", {"by": 500, "largest": 1 << 60}, ids=True, package=LOOP, tell=listed
        ),
    ),
    Operation("renumber", renumbering()),
    Operation(
        "lower_floor",
        leading("lower_floor", {"floor": 100, "pool": "default", "band": 0}, package=LOOP),
    ),
    Operation("forget_orphans", leading("forget_orphans", {"page": 0, "pages": 8192})),
    Operation("make_partitions", simple(sent(BACKGROUND, "make_partitions", days_ahead=0))),
    Operation("take_over", acquiring),
    Operation("take_over_and_dispatch", then(acquiring, dispatching(later=1))),
    Operation("cancel", together(cli("cancel", first))),
    Operation("cancel_both", together(cli("cancel", first), cli("cancel", second))),
    Operation(
        "cancel_jobs",
        together(
            cli(
                "cancel_jobs",
                lambda _: {
                    "queue": "default",
                    "tenant": None,
                    "kind": None,
                    "after_id": 0,
                    "limit": 10,
                },
            )
        ),
    ),
    Operation(
        "set_priority", together(cli("set_priority", lambda scene: _HIGH | first(scene)))
    ),
    Operation(
        "set_both",
        together(
            cli("set_priority", lambda scene: _HIGH | first(scene)),
            cli("set_priority", lambda scene: _HIGH | second(scene)),
        ),
    ),
    Operation(
        "set_priorities",
        together(
            cli(
                "set_priorities",
                lambda _: {
                    "priority": -5,
                    "queue": "default",
                    "tenant": None,
                    "kind": None,
                    "after_id": 0,
                    "limit": 10,
                },
            )
        ),
    ),
    Operation("retry", together(cli("retry", first))),
    Operation("retry_both", together(cli("retry", first), cli("retry", second))),
    Operation(
        "redrive",
        together(
            cli(
                "redrive",
                lambda _: {
                    "queue": "default",
                    "tenant": None,
                    "kind": None,
                    "after_at": "-infinity",
                    "after_id": 0,
                    "limit": 10,
                },
            )
        ),
    ),
    Operation("pause", together(cli("pause", lambda _: _PAUSE))),
    Operation("delete", deleting),
    Operation("insert", simple(INSERT)),
    Operation("replace", enqueueing("a", how=REPLACING)),
    Operation("replace_both", enqueueing("b", "a", how=REPLACING)),
    Operation("debounce", enqueueing("a", how=DEBOUNCED)),
    Operation("insert_for_a_period", enqueueing("a", how=OF_A_PERIOD)),
)
BY_NAME = {each.name: each for each in OPERATIONS}
