"""The console's settings: variables with the prefix `FAIRLEAD_`, checked at start."""

from pathlib import Path

from pydantic import Field, model_validator

from fairlead.settings import ServiceSettings

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""What nobody on another machine can reach."""


class ConsoleSettings(ServiceSettings):
    """The settings of `fairlead-console`."""

    console_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to serve the pages on. One that other machines can reach wants "
        "logins.",
    )
    console_port: int = Field(
        default=8420, ge=0, le=65_535, description="TCP port of the pages, 0 for a free one."
    )
    console_logins: str = Field(
        default="",
        repr=False,
        description="Who may look: `name:password`, one on each line. Empty: "
        "`console_logins_file`, else everybody who reaches the address.",
    )
    console_logins_file: Path | None = Field(
        default=None,
        description="File with such lines, read at each request. Not together with "
        "`console_logins`.",
    )
    console_operators: str = Field(
        default="",
        description="Those of the logins that may act, apart by commas: cancel, retry, pause. "
        "On loopback without logins everybody who reaches the address may.",
    )
    console_operator_url: str = Field(
        default="",
        repr=False,
        description="Connection URL of a member of `fairlead_operator`, by which these act. "
        "Empty: `console_operator_url_file`, else nobody acts.",
    )
    console_operator_url_file: Path | None = Field(
        default=None,
        description="File with that URL, read before each connection. Not together with "
        "`console_operator_url`.",
    )
    console_payloads: bool = Field(
        default=False,
        description="Show what jobs carry: payloads, headers and results.",
    )

    @model_validator(mode="after")
    def _is_closed_to_strangers(self) -> "ConsoleSettings":
        if self.console_logins and self.console_logins_file is not None:
            raise ValueError(
                "console_logins and console_logins_file are both set: keep "
                "FAIRLEAD_CONSOLE_LOGINS or FAIRLEAD_CONSOLE_LOGINS_FILE, not both"
            )
        if self.console_operator_url and self.console_operator_url_file is not None:
            raise ValueError(
                "console_operator_url and console_operator_url_file are both set: keep "
                "FAIRLEAD_CONSOLE_OPERATOR_URL or FAIRLEAD_CONSOLE_OPERATOR_URL_FILE, not both"
            )
        if self.operators and self.operator_address() is None:
            raise ValueError(
                "console_operators names who may act, and there is no login by which they "
                "do: set FAIRLEAD_CONSOLE_OPERATOR_URL_FILE to a file with its URL"
            )
        if not self.is_open or self.console_host in LOOPBACK:
            return self
        raise ValueError(
            f"console_host {self.console_host} can be reached from other machines: write "
            "`name:password` lines into a file and name it in FAIRLEAD_CONSOLE_LOGINS_FILE, or "
            "listen on 127.0.0.1"
        )

    @property
    def operators(self) -> frozenset[str]:
        """Those of the logins that may act."""
        names = (each.strip() for each in self.console_operators.split(","))
        return frozenset(each for each in names if each)

    def operator_address(self) -> "ConsoleSettings | None":
        """Return where those who act reach the database; None: nobody does."""
        if not self.console_operator_url and self.console_operator_url_file is None:
            return None
        return self.model_copy(
            update={
                "database_url": self.console_operator_url,
                "database_url_file": self.console_operator_url_file,
            }
        )

    @property
    def is_open(self) -> bool:
        """Whether nobody has to log in."""
        return not self.console_logins.strip() and self.console_logins_file is None
