"""A series of fail-overs from one seed, and what is said of it."""

import random
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from fairlead_scheduler.settings import SchedulerSettings
from fairlead_worker.settings import WorkerSettings
from tests.chaos.fail_overs import standing
from tests.chaos.fail_overs.orders import ordering
from tests.chaos.fail_overs.pair import paired
from tests.chaos.fail_overs.rounds import FailOvers, Kind, Last, Round
from tests.chaos.fail_overs.verdicts import Verdict
from tests.chaos.fleet import SETTINGS, fleet
from tests.support.leftovers import FOLDER

SHIPPED: Mapping[str, str] = MappingProxyType(
    {
        name: f"{about.default}"
        for model in (SchedulerSettings, WorkerSettings)
        for setting, about in model.model_fields.items()
        if (name := f"FAIRLEAD_{setting.upper()}") in SETTINGS and name != "FAIRLEAD_LOG_FORMAT"
    }
)
"""The defaults of what is shorter in the chaos."""


@dataclass(slots=True)
class Series:
    """What happened."""

    rounds: list[Round] = field(default_factory=list[Round])
    last: Last | None = None
    acknowledged: int = 0
    postgres: str = ""
    wrong: list[str] = field(default_factory=list[str])
    """Each violation, in a line."""


def run(
    kind: Kind,
    times: int,
    seed: int,
    *,
    environment: Mapping[str, str] = SHIPPED,
    say: Callable[[str], object] = print,
) -> Series:
    """Fail over so many times; the data of a series with a violation stays where it is.

    Args:
        kind: what happens to the primary.
        times: how often.
        seed: decides when, what is ordered and what else happens.
        environment: the fleet's settings beside those of the chaos.
        say: is told of each round.
    """
    made = Series()
    chance = random.Random(f"{kind} {seed}")
    folder = Path(tempfile.mkdtemp(prefix=FOLDER))
    with (
        paired(synchronous=kind == "sync", keep=made.wrong) as pair,
        fleet(pair.url, folder, environment) as programs,
    ):
        with pair.connect() as db:
            version = standing.begin(db)
            made.postgres = db.info.parameter_status("server_version") or ""
        with ordering(pair.url, f"{kind} {seed}") as orders:
            lease = float({**SETTINGS, **environment}["FAIRLEAD_WORKER_LEASE_SECONDS"])
            overs = FailOvers(kind, pair, programs, orders, chance, version, lease)
            overs.begin()
            for number in range(1, times + 1):
                done = overs.happen()
                made.rounds.append(done)
                say(f"{number:>4} {told(done)}")
                made.wrong += _wrong(f"{kind}, seed {seed}, round {number}", done.verdict, say)
            made.last = overs.finish()
            made.wrong += _wrong(f"{kind}, seed {seed}, the end", made.last.verdict, say)
            made.acknowledged = len(orders.acknowledged)
    return made


def told(each: Round) -> str:
    """Return a round in a line."""
    lost = f"; {each.lost} lost with the tail, {each.repeated} attempts" if each.lost else ""
    return (
        f"writable {each.writable:.2f} s, insert {each.insert:.2f} s, start {each.start:.2f} s,"
        f" ends {each.ends:.2f} s; {each.acknowledged} acknowledged{lost}; {each.beside}"
    )


def _wrong(where: str, verdict: Verdict, say: Callable[[str], object]) -> list[str]:
    found = [f"{where}: {name} {values}" for name, values in verdict.wrong().items()]
    for each in found:
        say(each)
    return found
