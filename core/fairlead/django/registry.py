"""The tasks that this process has declared with Fairlead's backend, by kind.

Django has no list of its tasks. A task validates itself when it is made, and its backend notes
it then. What stands in the database is data: no module is imported because a job names it.
"""

from django.utils.module_loading import autodiscover_modules

from fairlead.django.framework import AnyTask

_tasks: dict[str, AnyTask] = {}


def note(task: AnyTask) -> None:
    """Note a task; the first of a function is the one that its decorator made."""
    _tasks.setdefault(kind_of(task), task)


def kind_of(task: AnyTask) -> str:
    """Return the kind of a task's jobs: where its function stands."""
    return task.module_path


def find(kind: str) -> AnyTask | None:
    """Return the task of a kind; None: no module declares it that Django loads."""
    return _tasks.get(kind) or load().get(kind)


def load() -> dict[str, AnyTask]:
    """Import the module `tasks` of each installed app, and return all tasks by kind."""
    autodiscover_modules("tasks")
    return dict(_tasks)
