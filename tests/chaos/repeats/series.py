"""A series of one fault from one seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos.fail_overs import standing
from tests.chaos.fail_overs.orders import ordering
from tests.chaos.fail_overs.verdicts import Verdict
from tests.chaos.repeats.faults import FAULTS
from tests.chaos.repeats.rounds import Repeats, Round
from tests.chaos.repeats.scenes import opened


@dataclass(slots=True)
class Series:
    """What happened."""

    rounds: list[Round] = field(default_factory=list[Round])
    orders: int = 0
    """How many were acknowledged."""
    postgres: str = ""
    wrong: list[str] = field(default_factory=list[str])
    """Each violation, in a line."""


def run(fault: str, times: int, seed: str, *, say: Callable[[str], object] = print) -> Series:
    """Have a fault happen so many times; a violation ends the series.

    Args:
        fault: its name.
        times: how often.
        seed: decides when, whom, and what is ordered meanwhile.
        say: is told of each round.
    """
    kind, made = FAULTS[fault], Series()
    chance = random.Random(f"{fault} {seed}")
    with opened(kind.scene) as scene:
        with scene.fleet.connect() as db:
            version = standing.begin(db)
            made.postgres = db.info.parameter_status("server_version") or ""
        scene.begin()
        placed = ordering(scene.orders_url, f"{fault} {seed}", own_sessions=kind.own_sessions)
        with placed as orders:
            repeats = Repeats(kind, scene, orders, chance, version)
            for number in range(1, times + 1):
                done, verdict = repeats.happen()
                made.rounds.append(done)
                say(f"{number:>4} {told(done)}")
                made.wrong += _wrong(f"{fault}, seed {seed}, {number}", verdict, say)
                if made.wrong:
                    return made
            made.wrong += _wrong(f"{fault}, seed {seed}, the end", repeats.finish(), say)
            made.orders = len(orders.acknowledged)
    return made


def told(each: Round) -> str:
    """Return a round in a line."""
    return (
        f"gap {each.gap:.2f} s, insert {each.insert:.2f} s, again {each.again:.2f} s,"
        f" ends {each.ends:.2f} s; {each.acknowledged} acknowledged; {each.beside}"
    )


def _wrong(where: str, verdict: Verdict, say: Callable[[str], object]) -> list[str]:
    found = [f"{where}: {name} {values}" for name, values in verdict.wrong().items()]
    for each in found:
        say(each)
    return found
