"""Check the environment: every program's settings, and variables that no program reads."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fairlead.inspection.doctor.setup import SetupCheck

if TYPE_CHECKING:
    from pydantic_settings import BaseSettings

# The development server and the tests read it; no settings class does.
_OTHER_NAMES = {"FAIRLEAD_POSTGRES_BIN"}
# Stands in for a flag where no variable is set, so that the settings beside it are checked too.
_BY_FLAG = {"app": "its:tasks"}


def check_settings(environment: Mapping[str, str]) -> Iterator[SetupCheck]:
    """Check the settings of every program as this environment has them."""
    from pydantic import ValidationError

    from fairlead.settings import problems

    known = set(_OTHER_NAMES)
    for settings in settings_classes():
        variables = {name: f"FAIRLEAD_{name.upper()}" for name in settings.model_fields}
        known.update(variables.values())
        unset = {name for name, variable in variables.items() if variable not in environment}
        try:
            settings.model_validate({name: _BY_FLAG[name] for name in unset & _BY_FLAG.keys()})
        except ValidationError as error:
            for name, sentence in problems(error):
                # What is not set here may be given by a flag.
                if name in environment or name == "settings":
                    yield SetupCheck("error", "settings", sentence)
    given = {name for name in environment if name.startswith("FAIRLEAD_")}
    unknown = sorted(name for name in given - known if not name.startswith("FAIRLEAD_TEST_"))
    if unknown:
        sentence = f"nothing reads {', '.join(unknown)}: check the spelling"
        yield SetupCheck("warning", "settings", sentence)
    else:
        yield SetupCheck(
            "ok", "settings", f"FAIRLEAD_ variables that are set and known: {len(given)}"
        )


def settings_classes() -> "tuple[type[BaseSettings], ...]":
    """Return the settings of every program."""
    from fairlead.settings import DatabaseSettings
    from fairlead_autoscaler.settings import AutoscalerSettings
    from fairlead_console.settings import ConsoleSettings
    from fairlead_scheduler.settings import SchedulerSettings
    from fairlead_worker.settings import WorkerSettings

    return (
        *(DatabaseSettings, SchedulerSettings, WorkerSettings, AutoscalerSettings),
        ConsoleSettings,
    )
