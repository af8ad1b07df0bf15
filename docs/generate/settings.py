"""Write the page of settings from the settings classes."""

from pathlib import Path

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from fairlead.settings import DatabaseSettings, ServiceSettings
from fairlead_cli.check_settings import settings_classes

PATH = Path("docs/reference/settings.md")

_HEAD = """# Settings

Every setting of every program. Each is an environment variable. A program checks its settings
when it starts; if one is wrong, it prints one sentence and exits with code 2. `fairlead doctor
--setup` reads them all, and names variables that no program reads. `python -m docs.generate`
writes this page from the code.
"""
_TITLES = {
    "DatabaseSettings": "Every program",
    "SchedulerSettings": "The scheduler",
    "WorkerSettings": "The worker",
    "AutoscalerSettings": "The autoscaler",
    "ConsoleSettings": "The console",
}
_SIGNS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def render() -> str:
    """Return the page."""
    return "\n".join([_HEAD, *(_section(service) for service in settings_classes())])


def _section(service: type[BaseSettings]) -> str:
    shared = {} if service is DatabaseSettings else DatabaseSettings.model_fields
    last = ServiceSettings.model_fields
    rows = [
        f"| `FAIRLEAD_{name.upper()}` | {_default(field)} | {_bounds(field)} "
        f"| {_cell(field.description or '')} |"
        for name, field in sorted(
            service.model_fields.items(), key=lambda each: each[0] in last
        )
        if name not in shared
    ]
    table = "| variable | default | bounds | meaning |\n| --- | --- | --- | --- |\n"
    return f"## {_TITLES[service.__name__]}\n\n{table}" + "\n".join(rows) + "\n"


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required" if field.default_factory is None else "computed"
    return "none" if field.default in (None, "") else f"`{field.default}`"


def _bounds(field: FieldInfo) -> str:
    found = [
        f"{sign} {getattr(rule, name)}"
        for rule in field.metadata
        for name, sign in _SIGNS.items()
        if getattr(rule, name, None) is not None
    ]
    return ", ".join(found)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
