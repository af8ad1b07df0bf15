"""Where in its code an application raised something, and which frames are its own."""

import linecache
import traceback
from types import FrameType

_SENTENCE_CHARACTERS_MAX = 1000
_STDLIB = linecache.__file__.rpartition("/")[0] + "/"
_INSTALLED = ("/site-packages/", "/dist-packages/")


def is_standard(path: str) -> bool:
    """Return whether a file is one of Python's own."""
    return path.startswith((_STDLIB, "<frozen ")) and not is_installed(path)


def is_installed(path: str) -> bool:
    """Return whether a file belongs to an installed package; an application's own may too."""
    return any(each in path for each in _INSTALLED)


def package_of(frame: FrameType) -> str:
    """Return the top-level package whose code a frame runs."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def sentence(error: BaseException) -> str:
    """Return type, message and place of an error in one line; no place within Python."""
    message = error.msg if isinstance(error, SyntaxError) else error
    words = " ".join(f"{type(error).__qualname__}: {message}".split()).removesuffix(":")
    if len(words) > _SENTENCE_CHARACTERS_MAX:
        words = words[: _SENTENCE_CHARACTERS_MAX - 1] + "…"
    place = _place(error)
    return f"{words}, at {place}" if place else words


def _place(error: BaseException) -> str:
    """Return file and line of the last frame of the application, or of what it called."""
    if isinstance(error, SyntaxError) and error.filename and error.filename[0] != "<":
        return f"{error.filename}:{error.lineno}"
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if package_of(frame) != "fairlead" and not is_standard(frame.f_code.co_filename)
    ]
    own = [(path, line) for path, line in frames if not is_installed(path)] or frames
    return "{}:{}".format(*own[-1]) if own else ""
