"""P12: the cost of metrics in a drain, against programs that count nothing.

Fairlead as it is, with its pages read each second, and `bench.blind` drain the same jobs in
turns. Prometheus would read them every 15 s or less often.
"""

from __future__ import annotations

import http.client
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

from bench.contender import Contender
from bench.context import Context, say
from bench.fairlead_contender import FairleadContender
from bench.figures import paired_ratio
from bench.outcome import Outcome, figure, ratio
from bench.processes import BrokenRunError
from bench.rounds import Drain, drain
from fairlead_cli.dev.ports import free_port

_ROUNDS_QUICK, _ROUNDS_LONG = 6, 30
_SCRAPE_SECONDS = 1.0
_ANSWER_SECONDS = 5.0


@dataclass(slots=True)
class Scrapes:
    """What a scraper has read so far."""

    pages: dict[int, int] = field(default_factory=dict[int, int])
    """By port."""

    def read(self, port: int) -> None:
        """Read a program's page; skip one that does not answer."""
        try:
            with closing(
                http.client.HTTPConnection("127.0.0.1", port, timeout=_ANSWER_SECONDS)
            ) as line:
                line.request("GET", "/metrics")
                found = line.getresponse().read()
        except OSError:
            return
        if found:
            self.pages[port] = self.pages.get(port, 0) + 1


@contextmanager
def scraping(ports: Sequence[int]) -> Generator[Scrapes]:
    """Read these programs' pages each second until the end of the block."""
    scrapes, over = Scrapes(), threading.Event()

    def scrape() -> None:
        while not over.wait(_SCRAPE_SECONDS):
            for port in ports:
                scrapes.read(port)

    thread = threading.Thread(target=scrape, name="scraper", daemon=True)
    thread.start()
    try:
        yield scrapes
    finally:
        over.set()
        thread.join()


def watched(fairlead: FairleadContender, *, scheduler: int, worker: int) -> FairleadContender:
    """Return Fairlead as it is, with pages on these ports."""
    return replace(
        fairlead,
        scheduler=(*fairlead.scheduler, "--health-port", str(scheduler)),
        worker=(*fairlead.worker, "--health-port", str(worker)),
    )


def blind(fairlead: FairleadContender) -> FairleadContender:
    """Return Fairlead without metrics."""
    return replace(
        fairlead,
        name="blind",
        scheduler=(sys.executable, "-m", "bench.blind.scheduler"),
        worker=(sys.executable, "-m", "bench.blind.worker"),
    )


def _rates(drains: Sequence[Drain]) -> list[float]:
    return [each.drain_rate for each in drains]


def _cpus(drains: Sequence[Drain]) -> list[float]:
    return [each.clients_cpu_us + each.postgres_cpu_us for each in drains]


def _drain_watched(context: Context, contender: Contender, ports: Sequence[int]) -> Drain:
    with scraping(ports) as scrapes:
        result = drain(context.server, contender, workers=1, jobs=contender.drain_jobs)
    unread = [port for port in ports if not scrapes.pages.get(port)]
    if unread:
        raise BrokenRunError(f"no answer on port {unread[0]}: nothing was measured")
    return result


def run(context: Context) -> Outcome:
    """Drain in turns with metrics and without; report the ratios of pairs."""
    ports = (free_port(), free_port())
    seen = watched(context.fairlead, scheduler=ports[0], worker=ports[1])
    unseen = blind(context.fairlead)
    rounds: list[dict[str, Drain]] = []
    for turn in range(context.rounds(_ROUNDS_QUICK, _ROUNDS_LONG)):
        found: dict[str, Drain] = {}
        for each in context.shuffled((seen, unseen), turn):
            watches = each.name == seen.name
            found[each.name] = _drain_watched(context, each, ports if watches else ())
            rate = found[each.name].drain_rate
            say(f"  {'with' if watches else 'without'} metrics: {rate:,.0f} jobs/s")
        rounds.append(found)
    with_them = [each[seen.name] for each in rounds]
    without = [each[unseen.name] for each in rounds]
    rates = paired_ratio(_rates(with_them), _rates(without))
    cpus = paired_ratio(_cpus(with_them), _cpus(without))
    return Outcome(
        scenario="P12",
        figures=(
            ratio("rate_over_blind", "rate with metrics / without", rates),
            ratio("cpu_over_blind", "CPU of all, with / without", cpus),
            figure("rate_watched", "with metrics", "jobs/s", _rates(with_them)),
            figure("rate_blind", "without", "jobs/s", _rates(without)),
            figure("cpu_watched", "with, CPU of all", "us/job", _cpus(with_them)),
            figure("cpu_blind", "without, CPU of all", "us/job", _cpus(without)),
        ),
    )
