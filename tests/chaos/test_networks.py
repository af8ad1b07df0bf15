"""The network between a program and the server is cut in silence: nobody refuses anything.

Either way, or both. Whoever is cut off stops before others go on, and changes nothing later.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, time

import pytest

from tests.chaos import records
from tests.chaos.fleet import BUSY_RECOVERY_SECONDS, LEASE_SECONDS, Fleet, Program, fleet
from tests.chaos.misfortunes import leading
from tests.chaos.networks import Network, lacking, networked
from tests.support.databases import fast_folder, running_server
from tests.support.leftovers import FOLDER
from tests.support.schedulers import led
from tests.support.waiting import until

pytestmark = pytest.mark.long

_BRIEF_SECONDS = 1.0
"""Shorter than a lease, and than what a worker keeps of it in reserve."""
_KINDS = ("nap", "grind", "crunch", "book_async")
"""Their handlers stop when they are asked to. One that has a session of its own may hang in it,
cut off as it is, and then ends with its process, which records nothing."""
_TAKE_OVER_SECONDS = 4.0
WAYS = pytest.mark.parametrize(
    ("to_here", "to_there"),
    [(True, True), (True, False), (False, True)],
    ids=["both ways", "to the server", "from the server"],
)


@dataclass(frozen=True, slots=True)
class Wired:
    """A fleet, some of whose programs are started behind a wire."""

    fleet: Fleet
    network: Network

    def behind(self) -> None:
        """Start the next programs behind the wire."""
        self.fleet.within = self.network.within

    def before(self) -> None:
        """Start the next programs on the server's side of it."""
        self.fleet.within = ()


@pytest.fixture
def wired(migrated_data: Path, tmp_path: Path) -> Iterator[Wired]:
    """Yield a fleet over a durable server that both sides of the wire reach."""
    why = lacking()
    if why is not None:
        pytest.skip(why)
    with (
        networked() as network,
        tempfile.TemporaryDirectory(prefix=FOLDER) as folder,
    ):
        Path(folder).chmod(0o755)  # run by root, the server has another user, which reads it
        allowed = Path(folder) / "hba"
        allowed.write_text(
            "local all all trust\nhost all all 127.0.0.1/32 trust\n"
            f"host all all {network.here}/30 trust\n"
        )
        settings = {
            "listen_addresses": f"127.0.0.1,{network.here}",
            "hba_file": str(allowed),
        }
        with running_server(settings, within=fast_folder(), data=migrated_data) as server:
            url = server.url.replace("127.0.0.1", network.here)
            with fleet(url, tmp_path) as made:
                made.record()
                yield Wired(made, network)


def busy(wired: Wired) -> tuple[Program, Program, set[int]]:
    """Have a worker behind the wire run jobs for some seconds, and another one stand by."""
    made = wired.fleet
    made.scheduler()
    made.await_lead(0.0)
    wired.behind()
    cut_off = made.worker("behind")
    wired.before()
    other = made.worker("before")
    with other.frozen():
        jobs = {job for kind in _KINDS for job in made.insert(kind, 8000)}
        until(lambda: made.jobs_of(cut_off) == jobs, what="every start", seconds=20)
    return cut_off, other, jobs


def ended(leader: Program) -> bool:
    """Return whether a leader knows that its term is over."""
    return leader.said("leadership.ended") or leader.said("scheduler.disconnected")


@WAYS
def test_a_worker_that_is_cut_off_stops_before_its_jobs_run_elsewhere(
    wired: Wired, *, to_here: bool, to_there: bool
) -> None:
    """Its lease ends by its own count first, and it works again once the wire is mended."""
    made = wired.fleet
    cut_off, other, jobs = busy(wired)
    pids, cut_at = cut_off.process_tree(), time()

    wired.network.cut(to_here=to_here, to_there=to_there)
    until(lambda: jobs <= made.jobs_of(other), what="the theft", seconds=20)
    stopped = {e.job: e.at for e in made.events() if e.event == "stop_requested"}
    wired.network.mend()
    with made.connect() as db:
        db.execute("UPDATE fairlead.jobs SET payload = '{\"ms\": 10}'")
    made.wait_until_done(30)
    with other.frozen():
        until(lambda: cut_off.said("worker.registered"), what="its return")
        again = made.insert("nap", 10, 4)
        until(lambda: {*again} <= made.jobs_of(cut_off), what="work again", seconds=30)
        made.wait_until_done(20)

    assert made.violations().is_empty, made.violations()
    starts = {e.job: e.at for e in made.events() if e.event == "started" and e.pid not in pids}
    assert jobs - made.booked == {*stopped} - made.booked
    assert all(at < starts[job] for job, at in stopped.items())
    assert max(stopped.values()) - cut_at < LEASE_SECONDS
    assert {"before"} == made.finishers(jobs)
    assert made.recovery_seconds(pids, cut_at) <= BUSY_RECOVERY_SECONDS


@WAYS
def test_a_brief_cut_costs_no_attempt(wired: Wired, *, to_here: bool, to_there: bool) -> None:
    """What was sent arrives in the end, or is sent again: leases last, and jobs go on."""
    made = wired.fleet
    cut_off, other, jobs = busy(wired)
    with other.frozen():
        over = monotonic() + _BRIEF_SECONDS
        wired.network.cut(to_here=to_here, to_there=to_there)
        until(lambda: monotonic() >= over, what="the end of the cut")
        wired.network.mend()
        more = {job for kind in _KINDS for job in made.insert(kind, 50, 5)}
        until(lambda: more <= made.jobs_of(cut_off), what="more work", seconds=20)
    made.wait_until_done(40)

    assert made.violations().is_empty, made.violations()
    assert {"behind"} == made.finishers(jobs)
    starts = [each.job for each in made.events() if each.event == "started"]
    assert sorted(starts) == sorted({*starts})


@WAYS
def test_a_leader_that_is_cut_off_is_followed_and_changes_nothing(
    wired: Wired, *, to_here: bool, to_there: bool
) -> None:
    """A standby takes over as after a crash; what the deposed leader sends late is void."""
    made = wired.fleet
    wired.behind()
    cut_off = made.scheduler("behind")
    leading(made, [cut_off])
    wired.before()
    other = made.scheduler("before")
    made.worker()
    made.await_starts(made.insert("nap", 20, 200), 20)
    with made.connect() as db:
        epoch = led(db)
        wired.network.cut(to_here=to_here, to_there=to_there)
        cut_at = time()
        late = made.insert("nap", 20, 50)
        until(lambda: made.leader_pid() == other.pid, what="a take-over", seconds=20)
        until(lambda: ended(cut_off), what="the end of its term", seconds=20)
        wired.network.mend()
        made.wait_until_done(30)
        other.kill()
        made.insert("nap", 20, 50)
        until(lambda: made.leader_pid() == cut_off.pid, what="its lead again", seconds=20)
        made.wait_until_done(30)

        assert made.violations().is_empty, made.violations()
        assert all(each > epoch for job in late[25:] for each in records.epochs(db)[job])
        took_over_at = min(at for at in records.take_overs(db) if at > cut_at)
        assert took_over_at - cut_at <= _TAKE_OVER_SECONDS
