"""Wall clocks that are wrong, and that are set while programs run.

A library that programs load first adds seconds to what the system says of the time of day. They
stand in a file that all processes of a program map, so that its clock may be set at any moment.
Clocks that only count on, which no person sets, stay as they are. It needs a C compiler.
"""

import shutil
import struct
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

COMPILER = shutil.which("cc")
_SOURCE = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *ahead;

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("CHAOS_WALL_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) ahead = mapped;
    close(file);
}

int clock_gettime(clockid_t which, struct timespec *at) {
    int failed = syscall(SYS_clock_gettime, which, at);
    if (!failed && ahead && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        at->tv_sec += *ahead;
    return failed;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    at->tv_sec = exact.tv_sec;
    at->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec exact;
    if (clock_gettime(CLOCK_REALTIME, &exact)) return -1;
    if (at) *at = exact.tv_sec;
    return exact.tv_sec;
}
"""


@dataclass(frozen=True, slots=True)
class WallClock:
    """One clock, which programs may share.

    Args:
        path: the file that it is set by.
    """

    path: Path

    def set(self, seconds: int) -> None:
        """Have it be so many seconds ahead from now on."""
        with self.path.open("r+b" if self.path.exists() else "wb") as file:
            file.write(struct.pack("q", seconds))

    def environment(self) -> Mapping[str, str]:
        """Return the variables of a program that lives by it."""
        library = _library(self.path.parent)
        return {"LD_PRELOAD": str(library), "CHAOS_WALL_CLOCK": str(self.path)}


@cache
def _library(folder: Path) -> Path:
    assert COMPILER is not None
    source, library = folder / "wall_clock.c", folder / "wall_clock.so"
    source.write_text(_SOURCE, "utf-8")
    subprocess.run(
        [COMPILER, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source], check=True
    )
    return library
