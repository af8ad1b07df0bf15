"""What a database recorded is replayed: a life of jobs is, and what was forged is refused."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.chaos import records
from tests.model import maude
from tests.model.replaying import Step, refused
from tests.support.fail_over import replicated
from tests.support.race import (
    Database,
    Lease,
    answer,
    claim,
    complete,
    dispatch,
    end,
    finish,
    hand_back,
    insert,
    lead,
    let_lapse,
    mark_dead,
    register,
    steal,
)

pytestmark = pytest.mark.skipif(not maude.is_here(), reason=maude.MISSING)
LEASE_SECONDS = 0.0
"""No patience after a take-over, so that the test need not wait."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the database recorded while two jobs were lost with a worker, and run by another."""

    steps: tuple[Step, ...]
    old: Lease
    new: Lease

    def index(self, what: str, *, job: int = 0, nth: int = 0) -> int:
        """Return the place in the list of the nth step of this kind."""
        found = [
            place
            for place, step in enumerate(self.steps)
            if step.what == what and (not job or step.job == job)
        ]
        return found[nth]

    def with_(
        self,
        index: int,
        *,
        token: int | None = None,
        worker: int | None = None,
        epoch: int | None = None,
        timeline: int | None = None,
    ) -> tuple[Step, ...]:
        """Return the steps with other numbers in one of them."""
        step = self.steps[index]
        changed = replace(
            step,
            token=step.token if token is None else token,
            worker=step.worker if worker is None else worker,
            epoch=step.epoch if epoch is None else epoch,
            timeline=step.timeline if timeline is None else timeline,
        )
        return (*self.steps[:index], changed, *self.steps[index + 1 :])

    def without(self, index: int) -> tuple[Step, ...]:
        """Return the steps without one."""
        return (*self.steps[:index], *self.steps[index + 1 :])

    def again(self, index: int) -> tuple[Step, ...]:
        """Return the steps, and at the end one of them again, in a transaction of its own."""
        place, transaction = self.steps[-1].place + 1, self.steps[-1].transaction + 1
        return (
            *self.steps,
            replace(self.steps[index], place=place, transaction=transaction),
        )


@pytest.fixture
def recorded(db: Database) -> Recorded:
    """Record it: the statements are the product's."""
    records.begin(db)
    epoch = lead(db)
    jobs = insert(db, count=3)
    dispatch(db, jobs, epoch=epoch)
    worker = register(db)
    old, _, third = claim(db, worker)
    hand_back(db, third, "returned")
    let_lapse(db, worker)
    db.execute("SET application_name = 'fairlead scheduler sweeps'")
    mark_dead(db, epoch=epoch)
    steal(db, epoch=epoch)
    db.execute("SET application_name = 'fairlead worker one'")
    other = register(db)
    new, booked, late = claim(db, other)
    finish(db, [new])
    assert not complete(db, booked)
    assert "scheduled" == end(db, late, "failed")
    return Recorded(records.steps(db), old, new)


Forge = Callable[[Recorded], tuple[Step, ...]]
FORGERIES: dict[str, tuple[Forge, str]] = {
    "a claim under a token of before": (
        lambda r: r.with_(r.index("claimed", job=r.new.job, nth=1), token=r.old.token),
        "claimed(",
    ),
    "an ending under a token of before": (
        lambda r: r.with_(r.index("dequeued", job=r.new.job), token=r.old.token)[
            : r.index("ended", job=r.new.job)
        ],
        "putOff(",
    ),
    "a second ending": (
        lambda r: r.again(r.index("ended", job=r.new.job)),
        "endedUnqueued(",
    ),
    "a claim of what runs": (
        lambda r: r.without(r.index("handed back", job=r.new.job)),
        "claimed(",
    ),
    "a claim of the dead": (
        lambda r: r.with_(
            r.index("claimed", job=r.new.job, nth=1), worker=r.steps[r.index("died")].worker
        ),
        "claimed(",
    ),
    "a steal from the living": (lambda r: r.without(r.index("died")), "stolen("),
    "a death before the lease is over": (lambda r: r.without(r.index("renewed")), "lapsed("),
    "a renewal of the dead": (lambda r: r.again(r.index("renewed")), "renewed("),
    "a dispatch under another epoch": (
        lambda r: r.with_(r.index("dispatched"), epoch=7),
        "dispatched(",
    ),
    "a take-over that skips an epoch": (lambda r: r.with_(r.index("led"), epoch=7), "led("),
    "a recall of what a worker holds": (
        lambda r: r.with_(r.index("dequeued", job=r.steps[-1].job), token=0),
        "recalled(",
    ),
    "a worker's id that was given before": (
        lambda r: r.again(r.index("registered")),
        "registered(",
    ),
    "a token from before a promotion": (
        lambda r: r.with_(r.index("claimed", job=r.new.job, nth=1), timeline=2),
        "claimed(",
    ),
    "what the model does not know": (
        lambda r: (*r.steps, replace(r.steps[-1], what="moved")),
        "unknown(",
    ),
}


def test_what_happened_is_a_path_of_the_model(recorded: Recorded) -> None:
    """Nothing of it is refused."""
    assert () == refused(recorded.steps, lease_seconds=LEASE_SECONDS)
    kinds = {step.what for step in recorded.steps}
    assert {"claimed", "handed back", "died", "dequeued", "ended", "registered", "led"} <= kinds


def test_what_cannot_have_happened_is_refused(recorded: Recorded) -> None:
    """Each forgery is, and what is said names the event that was forged or follows from it."""
    said = {
        name: refused(forge(recorded), lease_seconds=LEASE_SECONDS)
        for name, (forge, _) in FORGERIES.items()
    }

    for name, (_, event) in FORGERIES.items():
        (what,) = said[name]
        assert what.startswith(event), (name, what)


def test_a_promotion_with_a_lost_tail_is_a_path_of_the_model(migrated_data: Path) -> None:
    """The new timeline's numbers are accepted; those of the former one would not be."""
    with replicated(migrated_data) as pair:
        records.begin(pair.primary)
        dispatch(pair.primary, insert(pair.primary, count=3), epoch=acquire(pair.primary))
        worker = register(pair.primary)
        claim(pair.primary, worker, limit=1)
        pair.cut()
        claim(pair.primary, worker, limit=1)
        pair.promote()
        db = pair.standby
        dispatch(db, insert(db, count=1), epoch=acquire(db))
        finish(db, claim(db, worker))
        steps = records.steps(db)

    lost = [replace(step, token=step.token % 10**12) for step in steps]

    assert {1, 2} == {step.timeline for step in steps}
    assert () == refused(steps, lease_seconds=15)
    (said,) = refused(lost, lease_seconds=15)
    assert said.startswith("claimed(")


def acquire(db: Database) -> int:
    """Acquire the scheduler's lease for a moment, again and again as one holder."""
    epoch = answer(db, "_acquire_leadership('one', 0.1, '')")
    assert isinstance(epoch, int)
    return epoch
