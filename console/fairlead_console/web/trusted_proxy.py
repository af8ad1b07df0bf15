"""Who a proxy says has signed in: believed from the networks that the settings name alone.

Where a request comes from is the address of its connection. What headers say of that
(`X-Forwarded-For` and the like) is not read: whoever can send the one can send the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from fairlead_console.settings import ConsoleSettings, listed

_NAME_MAX = 128
"""The audit log keeps so much of a name."""
_NOT_SIGNED_IN = "Sign in through the proxy to see this.\n"
_NOT_IN_A_GROUP = "You may not look: you are in none of the groups that may.\n"


@dataclass(frozen=True, slots=True)
class Person:
    """Who asks."""

    name: str
    """Empty: whoever is at this machine."""
    may_act: bool


class TrustedProxy:
    """Reads who asks from the headers of a proxy that signs people in.

    Args:
        settings: Which headers and from where, and which groups may do what.
    """

    def __init__(self, settings: ConsoleSettings) -> None:
        self._networks = settings.trusted_proxies
        self._user_header = settings.console_user_header
        self._groups_header = settings.console_groups_header
        self._operators = settings.operators
        self._operator_groups = listed(settings.console_operator_groups)
        self._viewer_groups = listed(settings.console_viewer_groups)

    def who(self, headers: Headers, peer: str | None) -> Person | PlainTextResponse:
        """Return who asks, or the refusal.

        Args:
            headers: Of the request.
            peer: The address of the other end of its connection; None: it has none.
        """
        if not self._is_trusted(peer):
            return PlainTextResponse(_NOT_SIGNED_IN, 401)
        name = _only(headers.getlist(self._user_header))
        said = headers.getlist(self._groups_header) if self._groups_header else []
        groups = _only(said) if said else ""
        # A header that is there twice is the browser's beside the proxy's: which is which?
        if not name or len(name) > _NAME_MAX or groups is None:
            return PlainTextResponse(_NOT_SIGNED_IN, 401)
        theirs = listed(groups.replace("|", ","))
        may_act = name in self._operators or not theirs.isdisjoint(self._operator_groups)
        if self._viewer_groups and not may_act and theirs.isdisjoint(self._viewer_groups):
            return PlainTextResponse(_NOT_IN_A_GROUP, 403)
        return Person(name, may_act=may_act)

    def _is_trusted(self, peer: str | None) -> bool:
        if peer is None:
            return False
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)


def _only(values: Sequence[str]) -> str | None:
    """Return the text of a header that is there once; None: it is not, or is no text."""
    if len(values) != 1:
        return None
    try:
        text = values[0].encode("latin-1").decode().strip()
    except UnicodeError:
        return None
    return text if text.isprintable() else None
