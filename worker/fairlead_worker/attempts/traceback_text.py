"""The text of an error for people: what was raised, what caused it, and where.

    ValueError: no price for article 7
      /app/shop/orders.py:41 in confirm
        total = sum(price_of(each) for each in order.articles)
      /app/shop/prices.py:12 in price_of
        raise ValueError(f"no price for article {article.id}") from error
    caused by KeyError: 7
      /app/shop/prices.py:10 in price_of
        return PRICES[article.id]

A frame is a file, a line and a function, and of the application's code the source of the line;
no values of variables. Of a cause there is only the first line of its message, since what
follows it in a database's error quotes rows. `fairlead.inspection.error_chain` reads it.
"""

import linecache
import re
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import FrameType
from typing import TypeAlias, cast

from fairlead.errors import InvalidPayload
from fairlead.runtime.code_places import is_installed, is_standard, package_of

ERROR_BYTES_MAX = 4096
"""How long the text of an attempt's error is at most, in UTF-8."""
_CAUSED_BY, _WHILE_HANDLING, _AMONG_THEM = _LINKS = (
    "caused by ",
    "while handling ",
    "among them ",
)
_GAP = "  …"
_FRAME = re.compile(r"  \S.*:\d+ in .+")
_FRAMES_BYTES_MAX = 3072
_FRAMES_MAX = (6, 4, 2, 1)
"""How many frames each error has: the first of these numbers with which all have room."""
_FIRST_ERRORS, _LAST_ERRORS = 2, 4
_ERRORS_WALKED_MAX = 1000
_PATH_BYTES_MAX, _NAME_BYTES_MAX, _SOURCE_BYTES_MAX = 240, 80, 160
_FAIRLEAD = frozenset({"fairlead", "fairlead_worker"})

_Frame: TypeAlias = tuple[FrameType, int]


@dataclass(frozen=True, slots=True)
class _Part:
    """One error of a chain: what it says, and of which error frames are shown below it."""

    head: str
    frames_of: BaseException | None


def describe(error: BaseException) -> str:
    """Return an error's type, message and frames, and those of its causes, in at most 4 KiB."""
    return _render([_part(*each) for each in _chain(error)], _package(error))


def with_causes(message: str, error: BaseException) -> str:
    """Return a message, and below it the causes of its error, in at most 4 KiB."""
    causes = [_part(*each) for each in _chain(error)[1:]]
    return _render([_Part(message, None), *causes], _package(error))


def places(text: str) -> list[str]:
    """Return the types of causes and the frames in the text of an error, without messages."""
    found: list[str] = []
    for line in text.split("\n")[1:]:
        if line.startswith(_LINKS):
            found.append(line.partition(": ")[0])
        elif _FRAME.fullmatch(line):
            found.append(line.strip())
    return found


def message_of(error: BaseException) -> str:
    """Return an error's message, even when its own code raises."""
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - an exception's own code may raise whatever
        return f"(its message cannot be read: {type(broken).__qualname__})"


def clean(text: str, *, bytes_max: int = ERROR_BYTES_MAX) -> str:
    """Return text that PostgreSQL stores: no NUL, no half surrogate, not too long."""
    encoded = text.replace("\0", "").encode(errors="replace")
    if len(encoded) <= bytes_max:
        return encoded.decode()
    return encoded[: bytes_max - 3].decode(errors="ignore") + "…"


# --- the chain -------------------------------------------------------------------------------


def _chain(error: BaseException) -> list[tuple[str, BaseException]]:
    """Return an error, those it is a group of and its causes, each with the words before it."""
    found: list[tuple[str, BaseException]] = []
    seen, left = set[int](), [("", error)]
    while left and len(found) < _ERRORS_WALKED_MAX:
        link, each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            found.append((link, each))
            left += reversed([*_below(each)])
    return found


def _below(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        yield from ((_AMONG_THEM, each) for each in group.exceptions[:_ERRORS_WALKED_MAX])
    if error.__cause__ is not None:
        yield _CAUSED_BY, error.__cause__
    elif error.__context__ is not None and not error.__suppress_context__:
        yield _WHILE_HANDLING, error.__context__


def _part(link: str, error: BaseException) -> _Part:
    name, message = type(error).__qualname__, message_of(error)
    # Lines of a message are indented, so that none looks like one of ours.
    said = message.partition("\n")[0] if link else message.replace("\n", "\n    ")
    return _Part(f"{link}{name}: {said}" if said else f"{link}{name}", error)


def _render(parts: list[_Part], package: str) -> str:
    """Write the parts with as many frames as there is room for; messages share the rest."""
    shown, tails = _ends(parts), list[str]()
    for frames_max in _FRAMES_MAX:
        tails = [_frames(each.frames_of, frames_max, package) for each in shown]
        if sum(len(tail.encode()) for tail in tails) <= _FRAMES_BYTES_MAX:
            break
    room = ERROR_BYTES_MAX - sum(len(tail.encode()) + 1 for tail in tails) + 1
    texts: list[str] = []
    for count, part, tail in zip(
        range(len(shown), 0, -1), shown[::-1], tails[::-1], strict=True
    ):
        head = clean(part.head, bytes_max=room // count)
        room -= len(head.encode())
        texts.append(head + tail)
    return "\n".join(reversed(texts))


def _ends(parts: list[_Part]) -> list[_Part]:
    """Leave out the middle of a long chain."""
    if len(parts) <= _FIRST_ERRORS + _LAST_ERRORS:
        return parts
    last = parts[-_LAST_ERRORS:]
    return [*parts[:_FIRST_ERRORS], replace(last[0], head=f"…\n{last[0].head}"), *last[1:]]


# --- the frames ------------------------------------------------------------------------------


def _frames(error: BaseException | None, frames_max: int, package: str) -> str:
    """Return the lines of so many frames: where it comes from, where it happened, and between.

    The application's own frames come before those of the libraries that it calls.
    """
    own = _without_callers(error)
    if not own:
        return ""
    last = len(own) - 1
    of_application = [at for at, (frame, _) in enumerate(own) if _is_own(frame, package)][::-1]
    first = [*of_application[:1], last, 0, *of_application, *range(last, -1, -1)]
    lines, before = [""], -1
    for at in sorted([*dict.fromkeys(first)][:frames_max]):
        lines += [_GAP] if at > before + 1 else []
        lines.append(_lines(*own[at], with_source=at in of_application))
        before = at
    return "\n".join(lines if before == last else [*lines, _GAP])


def _package(error: BaseException) -> str:
    """Return the top-level package of the code in which an error comes from a handler."""
    own = _without_callers(error)
    path = own[0][0].f_code.co_filename if own else "<frozen "
    return "" if is_standard(path) else package_of(own[0][0])


def _without_callers(error: BaseException | None) -> list[_Frame]:
    """Return an error's frames from the first of what the application wrote, or installed."""
    walked = [] if error is None else [*traceback.walk_tb(error.__traceback__)]
    for is_caller in (_is_no_own, _is_ours_or_standard, _is_ours):
        for at, (frame, _) in enumerate(walked):
            if not is_caller(frame):
                return walked[at:]
    # How we look at a payload tells nobody what is wrong with it; a bug of ours has its frames.
    return [] if isinstance(error, InvalidPayload) else walked


def _is_ours(frame: FrameType) -> bool:
    return package_of(frame) in _FAIRLEAD


def _is_ours_or_standard(frame: FrameType) -> bool:
    return _is_ours(frame) or is_standard(frame.f_code.co_filename)


def _is_no_own(frame: FrameType) -> bool:
    return _is_ours_or_standard(frame) or is_installed(frame.f_code.co_filename)


def _is_own(frame: FrameType, package: str) -> bool:
    return package_of(frame) == package or not _is_no_own(frame)


def _lines(frame: FrameType, line: int, *, with_source: bool) -> str:
    """Return a frame's lines; of a long path, its end."""
    name = clean(frame.f_code.co_name, bytes_max=_NAME_BYTES_MAX)
    path = clean(frame.f_code.co_filename[-_PATH_BYTES_MAX:]).encode()
    if len(path) > _PATH_BYTES_MAX:
        path = "…".encode() + path[3 - _PATH_BYTES_MAX :]
    place = f"  {path.decode(errors='ignore')}:{line} in {name}"
    source = linecache.getline(frame.f_code.co_filename, line or 0) if with_source else ""
    said = clean(source.strip(), bytes_max=_SOURCE_BYTES_MAX)
    return f"{place}\n    {said}" if said else place
