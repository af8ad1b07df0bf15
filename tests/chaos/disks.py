"""A small disk, which may be filled up. It needs Linux and the right to mount."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.leftovers import FOLDER

_MOUNT, _UNMOUNT = shutil.which("mount"), shutil.which("umount")
_BLOCK = b"." * 2**20


@cache
def lacking() -> str | None:
    """Return what is missing for such a disk, or None."""
    if _MOUNT is None or _UNMOUNT is None or os.geteuid() != 0:
        return "needs Linux and root"
    try:
        with mounted(1):
            return None
    except subprocess.CalledProcessError as error:
        return f"needs the right to mount: {error.stderr.decode().strip()}"


@dataclass(frozen=True, slots=True)
class Disk:
    """A disk; see `mounted`."""

    folder: Path

    def fill(self) -> None:
        """Take all room that is left."""
        with self._ballast.open("wb", buffering=0) as ballast, suppress(OSError):
            while ballast.write(_BLOCK):
                continue

    def free(self) -> None:
        """Give it back."""
        self._ballast.unlink()

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"


@contextmanager
def mounted(mib: int) -> Generator[Disk]:
    """Yield an empty disk for so much, in memory; nothing uses it any more at the end."""
    assert _MOUNT is not None
    assert _UNMOUNT is not None
    folder = Path(tempfile.mkdtemp(prefix=FOLDER))
    options = ["-t", "tmpfs", "-o", f"size={mib}m,mode=755", "none"]
    subprocess.run([_MOUNT, *options, folder], check=True, capture_output=True)
    try:
        yield Disk(folder)
    finally:
        subprocess.run([_UNMOUNT, "--lazy", folder], check=True)
        folder.rmdir()
