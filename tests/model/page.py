"""The page of the model: what was explored, its bounds, and what each variant breaks."""

import subprocess
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from tests.model.exploring import BASE, LEAD, LEASE, Found
from tests.model.scenes import Scene, Variant
from tests.support import tree

PATH = Path("docs/reference/proof/model.md")
Explored = Sequence[tuple[Scene, Found]]
Broken = Sequence[tuple[Variant, Found]]
_MODEL = "../../../tests/model/README.md"
_HEAD = """# The model

What time, crashes and fail-overs can do to leases, tokens, epochs, the floor and drains, as
[a model]({model}) of the protocol. From each scene every state was visited that can follow:
**{states:,} states and {steps:,} steps in all, and none breaks a promise**. From each of them
some path leads to the end of every job.

The bounds: a worker's lease is {lease} ticks and its margin 1, a leader's lease {lead}; a
timeline adds {base} to numbers. Each misfortune that is named happens once or not at all, at
any moment. *Depth* is the number of steps to the farthest state. Maude {maude}, {seconds:.0f} s
of one core, at commit `{commit}`. `python -m tests.model --record` writes this page.

## The model as it is

| scene | misfortunes | states | steps | depth | s |
|---|---|---|---|---|---|
"""
_VARIANTS = """
## The model with a guard left out

Each of these must break a promise, and does, in so many steps: no path is shorter.

| left out or broken | what breaks | steps | s | the guard |
|---|---|---|---|---|
"""


def write(explored: Explored, broken: Broken) -> None:
    """Write it."""
    path = tree.ROOT / PATH
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(explored, broken, _commit()), "utf-8")


def text(explored: Explored, broken: Broken, commit: str) -> str:
    """Return the page."""
    head = _HEAD.format(
        model=_MODEL,
        states=sum(found.states for _, found in explored),
        steps=sum(found.steps for _, found in explored),
        lease=LEASE,
        lead=LEAD,
        base=BASE,
        maude=version("maude"),
        seconds=sum(found.seconds for _, found in (*explored, *broken)),
        commit=commit,
    )
    return "".join([head, *_scenes(explored), _VARIANTS, *_variants(broken)])


def _scenes(explored: Explored) -> Iterator[str]:
    for scene, found in explored:
        yield (
            f"| *{scene.name}*: {scene.about} | {', '.join(scene.permits)} | {found.states:,}"
            f" | {found.steps:,} | {found.depth} | {found.seconds:.1f} |\n"
        )


def _variants(broken: Broken) -> Iterator[str]:
    for variant, found in broken:
        path = Path(variant.source)
        yield (
            f"| {variant.name.replace('-', ' ')} | {found.breaks} | {len(found.path)}"
            f" | {found.seconds:.1f} | [{_title(path)}](../../../{path}) |\n"
        )


def _title(path: Path) -> str:
    if path.parent.name == "adr":
        return f"ADR {path.name[:4]}"
    return path.parent.name if path.name == "README.md" else path.stem.replace("-", " ")


def _commit() -> str:
    git = ["/usr/bin/env", "git", "describe", "--always", "--dirty", "--abbrev=12"]
    said = subprocess.run(git, cwd=tree.ROOT, check=True, capture_output=True, text=True)
    return said.stdout.strip()
