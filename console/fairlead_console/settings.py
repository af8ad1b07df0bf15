"""The console's settings: variables with the prefix `FAIRLEAD_`, checked at start."""

import re
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path

from pydantic import Field, model_validator

from fairlead.settings import ServiceSettings

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""What nobody on another machine can reach."""
_HEADER = re.compile("[A-Za-z0-9-]+")

Network = IPv4Network | IPv6Network


def listed(text: str) -> frozenset[str]:
    """Return what stands between commas."""
    return frozenset(each.strip() for each in text.split(",") if each.strip())


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
        description="Those who may act, by name, apart by commas: cancel, retry, pause, edit. "
        "On loopback without logins everybody who reaches the address may.",
    )
    console_operator_url: str = Field(
        default="",
        repr=False,
        description="Connection URL of a member of `fairlead_operator`, by which these act. "
        "Of `fairlead_admin` as well: they may apply a policy. Empty: "
        "`console_operator_url_file`, else nobody acts.",
    )
    console_operator_url_file: Path | None = Field(
        default=None,
        description="File with that URL, read before each connection. Not together with "
        "`console_operator_url`.",
    )
    console_user_header: str = Field(
        default="",
        description="Header in which a proxy says who has signed in, such as "
        "`X-Forwarded-User`, instead of logins. Believed from `console_trusted_proxies` alone.",
    )
    console_groups_header: str = Field(
        default="",
        description="Header in which it says of which groups they are, apart by commas or `|`.",
    )
    console_trusted_proxies: str = Field(
        default="",
        description="Networks from which that proxy connects, apart by commas, such as "
        "`10.0.0.7/32`. From elsewhere nobody comes in.",
    )
    console_viewer_groups: str = Field(
        default="",
        description="Groups that may look, apart by commas. Empty: whoever has signed in.",
    )
    console_operator_groups: str = Field(
        default="", description="Groups that may look and act, apart by commas."
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
        groups = listed(self.console_operator_groups)
        if (self.operators or groups) and self.operator_address() is None:
            raise ValueError(
                f"{'console_operators' if self.operators else 'console_operator_groups'} names "
                "who may act, and there is no login by which they "
                "do: set FAIRLEAD_CONSOLE_OPERATOR_URL_FILE to a file with its URL"
            )
        if not self.is_open or self.console_host in LOOPBACK:
            return self
        raise ValueError(
            f"console_host {self.console_host} can be reached from other machines: write "
            "`name:password` lines into a file and name it in FAIRLEAD_CONSOLE_LOGINS_FILE, "
            "have a proxy sign people in (FAIRLEAD_CONSOLE_USER_HEADER), or listen on 127.0.0.1"
        )

    @model_validator(mode="after")
    def _believes_no_stranger(self) -> "ConsoleSettings":
        header, groups = self.console_user_header, self.console_groups_header
        fault = ""
        if header and self.has_logins:
            fault = (
                "console_user_header and logins are both set: keep "
                "FAIRLEAD_CONSOLE_USER_HEADER or FAIRLEAD_CONSOLE_LOGINS_FILE, not both"
            )
        elif header and not self.trusted_proxies:
            fault = (
                f"console_user_header {header} would be believed from nobody: name the proxy's "
                "networks in FAIRLEAD_CONSOLE_TRUSTED_PROXIES, such as 10.0.0.7/32"
            )
        elif not header and (groups or self.console_trusted_proxies):
            fault = (
                "console_groups_header or console_trusted_proxies is set, and no header says "
                "who has signed in: name it in FAIRLEAD_CONSOLE_USER_HEADER"
            )
        elif not groups and (self.console_viewer_groups or self.console_operator_groups):
            fault = (
                "console_viewer_groups or console_operator_groups is set, and no header says "
                "who is of which: name it in FAIRLEAD_CONSOLE_GROUPS_HEADER"
            )
        elif not all(_HEADER.fullmatch(each) for each in (header, groups) if each):
            fault = (
                f"console_user_header {header!r} or console_groups_header {groups!r} is no "
                "header's name, such as X-Forwarded-User"
            )
        if fault:
            raise ValueError(fault)
        return self

    @property
    def trusted_proxies(self) -> tuple[Network, ...]:
        """The networks from which a proxy is believed.

        Raises:
            ValueError: one is none, or has everybody in it.
        """
        found: list[Network] = []
        for each in sorted(listed(self.console_trusted_proxies)):
            try:
                found.append(ip_network(each))
            except ValueError as error:
                raise ValueError(
                    f"console_trusted_proxies names {each}, and that is no network: {error}"
                ) from None
            if not found[-1].prefixlen:
                raise ValueError(
                    f"console_trusted_proxies names {each}, so that everybody could say to be "
                    "anybody: name the networks of the proxy alone"
                )
        return tuple(found)

    @property
    def operators(self) -> frozenset[str]:
        """Those who may act, by name."""
        return listed(self.console_operators)

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
        """Whether nobody has to sign in."""
        return not self.has_logins and not self.console_user_header

    @property
    def has_logins(self) -> bool:
        """Whether people log in with a password."""
        return bool(self.console_logins.strip()) or self.console_logins_file is not None
