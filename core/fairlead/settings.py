"""Settings that all programs share: the database, the pages of a service, its logs.

Frozen, prefixed `FAIRLEAD_`, each field with its unit, default and reason. The URL comes from
`FAIRLEAD_DATABASE_URL`, or from the file that `FAIRLEAD_DATABASE_URL_FILE` names, which is read
again before each connection attempt so that a corrected secret is seen, or else from libpq's
own variables (`PGHOST`, `PGUSER`, …). `FAIRLEAD_DATABASE_PASSWORD_COMMAND` prints the password
where that expires.
"""

from pathlib import Path

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from fairlead.db.conninfo import find_error
from fairlead.db.password import words
from fairlead.runtime.log_choices import LogFormat, LogLevel


class DatabaseSettings(BaseSettings):
    """How to reach PostgreSQL."""

    model_config = SettingsConfigDict(
        env_prefix="FAIRLEAD_", frozen=True, extra="forbid", hide_input_in_errors=True
    )

    database_url: str = Field(
        default="",
        repr=False,
        description="Connection URL or libpq keywords. Empty: `database_url_file`, else "
        "libpq's own variables (PGHOST, PGUSER, ...).",
    )
    database_url_file: Path | None = Field(
        default=None,
        description="File that holds the connection URL, read again before each connection "
        "attempt. Not together with `database_url`.",
    )
    database_password_command: str = Field(
        default="",
        repr=False,
        description="Command that prints the password, for tokens that expire. It runs without "
        "a shell before each connection attempt, with PGHOST, PGPORT, PGUSER and PGDATABASE of "
        "that one, and its one line of output replaces a password in the URL.",
    )
    database_password_seconds: int = Field(
        default=10, ge=1, le=60, description="Seconds until that command is killed."
    )
    database_direct: bool = Field(
        default=True,
        description="Set it to false behind PgBouncer's transaction mode: no LISTEN, no "
        "prepared statements; programs poll, and set up each transaction anew.",
    )
    connect_timeout_seconds: int = Field(
        default=5, ge=1, le=60, description="Seconds until one connection attempt is given up."
    )
    network_timeout_seconds: int = Field(
        default=10,
        ge=2,
        le=600,
        description="Seconds after which a connection counts as lost if the other side "
        "acknowledges nothing, because its machine or the network is gone.",
    )

    @field_validator("database_url")
    @classmethod
    def _can_be_read(cls, database_url: str) -> str:
        wrong = find_error(database_url)
        if wrong is not None:
            raise ValueError(wrong)
        return database_url

    @field_validator("database_password_command")
    @classmethod
    def _can_be_called(cls, database_password_command: str) -> str:
        if database_password_command:
            words(database_password_command)
        return database_password_command

    @model_validator(mode="after")
    def _one_source(self) -> "DatabaseSettings":
        if self.database_url and self.database_url_file is not None:
            raise ValueError(
                "database_url and database_url_file are both set: keep FAIRLEAD_DATABASE_URL "
                "or FAIRLEAD_DATABASE_URL_FILE, not both"
            )
        return self


class ServiceSettings(DatabaseSettings):
    """Settings of every service in addition to the database: its pages and logs."""

    release: str = Field(
        default="",
        max_length=128,
        description="The release or fleet that the program belongs to; the chart gives "
        "`namespace/release`. The first one with a name owns the database: schedulers and "
        "autoscalers of another one, or of none, are refused, and so are workers in its pools.",
    )
    health_port: int | None = Field(
        default=None,
        ge=0,
        le=65_535,
        description="TCP port of /livez, /readyz and /metrics, 0 for a free one; none: they "
        "are not served.",
    )
    health_host: str = Field(
        default="", description="Address to serve them on; empty is every address."
    )
    log_format: LogFormat = Field(
        default="auto", description="json, console, or auto: console on a terminal, else json."
    )
    log_level: LogLevel = Field(
        default="info", description="The least severe lines that are written."
    )


def explain(error: ValidationError) -> str:
    """Return one sentence per wrong setting: its name, the value and what is wrong with it.

    The value of a database URL is left out, since it may hold a password, and so is a command.
    """
    return "; ".join(sentence for _, sentence in problems(error))


def problems(error: ValidationError) -> tuple[tuple[str, str], ...]:
    """Return each wrong setting's variable and its sentence, as `explain` joins them."""
    found: list[tuple[str, str]] = []
    for problem in error.errors():
        field = "_".join(str(part) for part in problem["loc"])
        # An alias is a variable's name already.
        variable = field if field.isupper() else f"FAIRLEAD_{field.upper()}"
        name = variable if field else "settings"
        message = problem["msg"].removeprefix("Value error, ")
        may_be_secret = "url" in field or field == "database_password_command"
        silent = not field or problem["type"] == "missing" or may_be_secret
        value = "" if silent else f" (it is {problem['input']!r})"
        found.append((name, f"{name}: {message}{value}"))
    return tuple(found)
