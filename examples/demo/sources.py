"""The demo's input: the Python source of the standard library and of every installed package.

One tenant per package: a few huge, many tiny, real skew. Nothing is imported, only read.
"""

import sysconfig
from dataclasses import dataclass
from pathlib import Path

STANDARD_LIBRARY = "standard library"
_FLOOD_PACKAGES = 6
_FILE_BYTES_MAX = 32_000
"""A longer file would hold one of the demo's few slots for a second and more, and hide in what
it takes what a weight is to show."""

Package = tuple[str, tuple[Path, ...]]
"""A package's name, which is its tenant's, and its files."""


@dataclass(frozen=True, slots=True)
class Classes:
    """The tenants as the tables and the picture tell them apart."""

    largest: str
    large: frozenset[str]
    small: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sources:
    """Files by package, the largest package first, and how many were too long."""

    packages: tuple[Package, ...]
    left_out: int

    @property
    def files(self) -> int:
        """How many files there are."""
        return sum(len(paths) for _, paths in self.packages)

    @property
    def flood(self) -> tuple[Package, ...]:
        """The packages with the most files, there from the start."""
        return self.packages[:_FLOOD_PACKAGES]

    @property
    def small(self) -> tuple[Package, ...]:
        """The others, which come one by one beside them."""
        return self.packages[_FLOOD_PACKAGES:]

    @property
    def classes(self) -> Classes:
        """Who is of the flood, and who is not."""
        largest, *large = (name for name, _ in self.flood)
        return Classes(largest, frozenset(large), frozenset(name for name, _ in self.small))


def find(*, file_bytes_max: int = _FILE_BYTES_MAX) -> Sources:
    """Return the source files of this interpreter and its packages, but for long ones."""
    found: dict[str, list[Path]] = {}
    left_out = 0
    paths = sysconfig.get_paths()
    library, site = Path(paths["stdlib"]), Path(paths["purelib"])
    for root in (library, site):
        for path in sorted(root.rglob("*.py")):
            parts = path.relative_to(root).parts
            if root == library and "site-packages" in parts:
                continue
            if path.stat().st_size > file_bytes_max:
                left_out += 1
                continue
            tenant = STANDARD_LIBRARY if root == library else parts[0].removesuffix(".py")
            found.setdefault(tenant, []).append(path)
    packages = sorted(
        ((name, tuple(files)) for name, files in found.items()),
        key=lambda package: (-len(package[1]), package[0]),
    )
    return Sources(tuple(packages), left_out)
