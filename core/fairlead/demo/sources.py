"""The demo's input: the Python source of the standard library and of every installed package.

One tenant per package: a few huge, many tiny, real skew. Nothing is imported, only read.
"""

import sysconfig
from dataclasses import dataclass
from pathlib import Path

STANDARD_LIBRARY = "standard library"
_BYTES_MAX = 40_000_000  # half a minute on two idle cores, a minute where they are shared


@dataclass(frozen=True, slots=True)
class Sources:
    """Files by package, the largest package first, and how many were left out for time."""

    packages: tuple[tuple[str, tuple[Path, ...]], ...]
    left_out: int

    @property
    def files(self) -> int:
        """How many files there are."""
        return sum(len(paths) for _, paths in self.packages)

    @property
    def biggest(self) -> str:
        """The tenant with the most files."""
        return self.packages[0][0]


def find(*, bytes_max: int = _BYTES_MAX) -> Sources:
    """Return the source files of this interpreter and its packages.

    Above `bytes_max` every package but the smallest is thinned evenly, so that the skew stays.
    """
    sizes: dict[str, list[tuple[Path, int]]] = {}
    paths = sysconfig.get_paths()
    library, site = Path(paths["stdlib"]), Path(paths["purelib"])
    for root in (library, site):
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).parts
            if root == library and "site-packages" in parts:
                continue
            tenant = STANDARD_LIBRARY if root == library else parts[0].removesuffix(".py")
            sizes.setdefault(tenant, []).append((path, path.stat().st_size))
    total = sum(size for files in sizes.values() for _, size in files)
    share = min(1.0, bytes_max / total)
    kept = {tenant: _thinned(files, share) for tenant, files in sizes.items()}
    packages = sorted(kept.items(), key=lambda item: (-len(item[1]), item[0]))
    left_out = sum(map(len, sizes.values())) - sum(map(len, kept.values()))
    return Sources(tuple(packages), left_out)


def _thinned(files: list[tuple[Path, int]], share: float) -> tuple[Path, ...]:
    """Keep this share of the files, evenly spread; at least five of them."""
    count = min(len(files), max(5, round(len(files) * share)))
    return tuple(files[index * len(files) // count][0] for index in range(count))
