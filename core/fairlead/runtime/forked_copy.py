"""End a forked copy of a process where it would go on as if it were that process.

A handler may fork, itself or in a library. The copy has the memory of the whole process: its
attempts, its connections, its end of every socket. It may run the handler's code to the end,
but in the code that had called the handler it would begin and end jobs a second time.
"""

import os


def end_if_copy(original: int, error: BaseException | None = None) -> None:
    """End this process at once unless its id is this one.

    Args:
        original: the id of the process that was forked.
        error: what the handler raised in the copy; as in any program it decides the exit code.
    """
    if os.getpid() != original:
        os._exit(_exit_code(error))


def _exit_code(error: BaseException | None) -> int:
    """Return the code with which Python ends for this error."""
    code = error.code if isinstance(error, SystemExit) else error
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1
