"""A service's health pages, found and read from outside."""

from pathlib import Path
from urllib.request import urlopen


def page(port: int, name: str) -> str:
    """Return what a page says, whatever its status."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/{name}", timeout=5) as answer:
            return str(answer.read().decode()).strip()
    except OSError as error:
        body = getattr(error, "read", bytes)()
        return str(body.decode()).strip()


def listening_port(pid: int) -> int:
    """Return the port that a process listens on, from Linux's tables."""
    ours = {
        each.readlink().name.removeprefix("socket:[").removesuffix("]")
        for each in Path(f"/proc/{pid}/fd").iterdir()
        if each.is_symlink() and "socket:[" in str(each.readlink())
    }
    lines = Path("/proc/net/tcp6").read_text() + Path("/proc/net/tcp").read_text()
    for line in lines.splitlines():
        fields = line.split()
        if len(fields) > 9 and fields[3] == "0A" and fields[9] in ours:
            return int(fields[1].rpartition(":")[2], 16)
    raise AssertionError("it listens on no port")
