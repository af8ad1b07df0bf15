"""Load the application that a program's `--app` names."""

import importlib
import os

from fairlead.runtime.code_places import sentence
from fairlead.runtime.forked_copy import end_if_copy
from fairlead.tasks import Tasks


class AppError(Exception):
    """The application cannot be loaded; the message is one sentence for people."""


def load(app: str) -> Tasks:
    """Import `module:attribute` and return the Tasks that it names.

    Raises:
        AppError: the name is malformed, the import fails, or there are no Tasks there. The
            sentence names the file and the line of the application.
    """
    module_name, colon, attribute = app.partition(":")
    if not colon or not module_name or not attribute:
        raise AppError(f"app must be module:attribute, like myapp.jobs:tasks, not {app!r}")
    pid = os.getpid()
    try:
        found: object = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        end_if_copy(pid, error)
        raise AppError(f"cannot load app {app!r}: {sentence(error)}") from error
    if not isinstance(found, Tasks):
        raise AppError(
            f"app {app!r} is a {type(found).__name__}: name an object of fairlead.Tasks"
        )
    try:
        found.check()
    except ValueError as error:
        raise AppError(f"cannot load app {app!r}: {error}") from error
    return found
