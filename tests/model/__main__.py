"""Explore the model: `python -m tests.model [--only TEXT] [--record]`.

The true model first, from every scene, then each variant, which must break what it is known to
break. With --record the page is written, with the commit. The exit code is 1 if something is
not as it must be, and 2 if Maude is not here.
"""

import argparse
import sys

from tests.model import maude, page
from tests.model.exploring import Found, explore
from tests.model.scenes import TRUE, Scene, Variant
from tests.model.variants import VARIANTS


def main() -> int:
    """Explore what was asked for, print a line for each, and say what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.model")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="those with this in the name"
    )
    parser.add_argument("--record", action="store_true", help=f"write {page.PATH}")
    options = parser.parse_args()
    if not maude.is_here():
        sys.stderr.write(f"{maude.MISSING}\n")
        return 2
    explored = [_told(scene) for scene in TRUE if options.only in str(scene)]
    broken = [_broken(variant) for variant in VARIANTS if options.only in variant.name]
    wrong = sum(bool(found.breaks) for _, found in explored)
    wrong += sum(found.breaks != variant.breaks for variant, found in broken)
    if options.record and not (wrong or options.only):
        page.write(explored, broken)
    states = sum(found.states for _, found in explored)
    sys.stdout.write(
        f"{states:,} states keep every promise, {len(broken)} variants break one\n"
        if not wrong
        else f"{wrong} are not as they must be\n"
    )
    return wrong > 0


def _told(scene: Scene) -> tuple[Scene, Found]:
    found = explore(scene)
    _say(f"{scene}: {found.states:,} states, {found.depth} steps deep", found)
    return scene, found


def _broken(variant: Variant) -> tuple[Variant, Found]:
    found = explore(variant.scene, variant)
    _say(f"{variant.name}: {len(found.path)} steps", found)
    if found.breaks != variant.breaks:
        sys.stdout.write(f"  should break: {variant.breaks}\n")
    return variant, found


def _say(line: str, found: Found) -> None:
    sys.stdout.write(f"{found.seconds:6.1f} s  {line}\n")
    if found.breaks:
        sys.stdout.write(f"  {found.breaks}: {' > '.join(found.path)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
