"""Read the text of a job's error: what was raised, what caused it, and where.

The worker's `attempts.traceback_text` writes it. Whatever else an error says, such as a worker
in another language, is one error without frames.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypedDict, cast

from fairlead.inspection import formats
from fairlead.inspection.rows import Row

_FRAME = re.compile(r"  (?P<file>\S.*?):(?P<line>\d+) in (?P<function>.*)")
_LINK = re.compile(r"(?P<link>caused by|while handling|among them) (?P<error>.*)")
_SHOWN_MAX: Final = 5


class Frame(TypedDict):
    """One place in the code; of libraries without the source of its line."""

    file: str
    line: int
    function: str
    source: str | None


class Link(TypedDict):
    """One error, and how it led to the one before: null for the one that ended the attempt."""

    link: str | None
    error: str
    frames: list[Frame]


def read(error: str | None) -> list[Link]:
    """Return the errors of a text, the one that ended the attempt first."""
    chain: list[Link] = []
    for line in error.split("\n") if error else ():
        linked, frame = _LINK.fullmatch(line), _FRAME.fullmatch(line)
        if not chain:
            chain.append({"link": None, "error": line, "frames": []})
        elif linked is not None:
            chain.append({"link": linked["link"], "error": linked["error"], "frames": []})
        elif frame is not None:
            place: Frame = {
                "file": frame["file"],
                "line": int(frame["line"]),
                "function": frame["function"],
                "source": None,
            }
            chain[-1]["frames"].append(place)
        else:
            _add(chain[-1], line)
    return chain


def _add(last: Link, line: str) -> None:
    """Add a line that continues a message or is the source of a frame; no gap."""
    if line in {"…", "  …"}:
        return
    if last["frames"]:
        last["frames"][-1]["source"] = last["frames"][-1]["source"] or line.strip()
    else:
        last["error"] += "\n" + line.removeprefix("    ")


def lines_below(job_error: str | None, attempts: Sequence[Row]) -> list[str]:
    """Return what to print of attempts below their table: texts that the job does not show.

    The attempts with the same text stand together, of the last few texts.
    """
    texts: dict[str, list[int]] = {}
    for row in attempts:
        text = str(row["error"] or "")
        if "\n" in text and text != job_error:
            texts.setdefault(text, []).append(cast("int", row["attempt"]))
    lines: list[str] = []
    for text, numbers in [*texts.items()][-_SHOWN_MAX:]:
        lines += ["", f"{_title(numbers)}:", *_printable(text)]
    if len(texts) > _SHOWN_MAX:
        lines += [
            "",
            f"{len(texts) - _SHOWN_MAX} other errors of earlier attempts: --json has them",
        ]
    return lines


def _title(numbers: Sequence[int]) -> str:
    said = ", ".join(map(str, numbers))
    return f"attempt {said}" if len(numbers) == 1 else f"attempts {said}"


def _printable(text: str) -> Iterable[str]:
    return (f"  {formats.printable(line)}" for line in text.split("\n"))
