"""What a series of fail-overs has shown, as the file that the page is made from."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import machine
from bench.figures import percentile
from tests.chaos.fail_overs.rounds import Kind, Round
from tests.chaos.fail_overs.series import Series

FOLDER = Path(__file__).parent / "recorded"
_SPANS = ("writable", "insert", "start", "ends")


def write(kind: Kind, seed: int, series: Series) -> Path:
    """Write the file of this kind; a series with a violation has none."""
    assert not series.wrong
    path = FOLDER / f"{kind}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(_lines(seed, series)) + "\n", "utf-8")
    return path


def _lines(seed: int, series: Series) -> Iterator[str]:
    on, last = machine.describe(), series.last
    assert last is not None
    yield f"times = {len(series.rounds)}"
    yield f"seed = {seed}"
    yield f"acknowledged = {series.acknowledged}"
    yield f"lost_with_tails = {sum(each.lost for each in series.rounds)}"
    yield f"forgotten_attempts = {sum(each.repeated for each in series.rounds)}"
    yield f"stale_refused = {last.refused}"
    yield f"succeeded = {last.outcomes.get('succeeded', 0)}"
    yield f"ended = {sum(last.outcomes.values())}"
    yield ""
    yield "[on]"
    yield f'machine = "{on.cpu_model}, {on.cores} cores, {on.memory_gib} GiB"'
    yield f'postgres = "{series.postgres}"'
    yield f'python = "{on.python}"'
    yield f'commit = "{on.commit}"'
    yield f'date = "{on.date}"'
    beside = Counter(each.beside for each in series.rounds)
    for name in sorted(beside, key=lambda name: -beside[name]):
        found = [each for each in series.rounds if each.beside == name]
        yield ""
        yield f'[beside."{name}"]'
        yield f"times = {len(found)}"
        for span in _SPANS:
            yield f"{span} = [{', '.join(_spread(found, span))}]"


def _spread(found: Sequence[Round], span: str) -> Iterator[str]:
    values = sorted(float(getattr(each, span)) for each in found)
    for share in (0.5, 0.9, 0.99, 1.0):
        yield f"{percentile(values, share):.2f}"
