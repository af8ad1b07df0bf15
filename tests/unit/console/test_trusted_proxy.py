"""Who asks, by the headers of a proxy: from its networks alone, and where they are clear."""

import pytest
from starlette.datastructures import Headers

from fairlead_console.settings import ConsoleSettings
from fairlead_console.web.trusted_proxy import Person, TrustedProxy

_PROXY = {
    "console_user_header": "X-Forwarded-User",
    "console_groups_header": "X-Forwarded-Groups",
    "console_trusted_proxies": "10.0.0.0/24,fd00::/64",
    "console_viewer_groups": "staff",
    "console_operators": "ada",
    "console_operator_groups": "on call,sre",
    "console_operator_url": "postgresql://nowhere",
}
_HERE = "10.0.0.7"
_GRACE = (b"x-forwarded-user", b"grace")


def asked(*headers: tuple[bytes, bytes], peer: str | None = _HERE, **more: str) -> Person | int:
    """Return who is let in, or the status of the refusal."""
    proxy = TrustedProxy(ConsoleSettings.model_validate({**_PROXY, **more}))
    found = proxy.who(Headers(raw=list(headers)), peer)
    return found if isinstance(found, Person) else found.status_code


def groups(said: str) -> tuple[bytes, bytes]:
    """Return the header of somebody's groups."""
    return (b"x-forwarded-groups", said.encode())


@pytest.mark.parametrize(
    "peer", ["10.0.0.7", "10.0.0.255", "::ffff:10.0.0.7", "fd00::1"], ids=str
)
def test_a_proxy_is_believed_from_its_networks(peer: str) -> None:
    """An address of IPv4 may come in the form of IPv6, where a socket listens to both."""
    assert Person("grace", may_act=False) == asked(_GRACE, groups("staff"), peer=peer)


@pytest.mark.parametrize(
    "peer",
    [
        "10.0.1.7",
        "127.0.0.1",
        "::1",
        "::ffff:10.0.1.7",
        "fd00:0:0:1::1",
        "10.0.0",
        "proxy",
        None,
    ],
    ids=str,
)
def test_from_elsewhere_nobody_comes_in(peer: str | None) -> None:
    """Whatever the headers say of where the request was before."""
    forwarded = ((b"x-forwarded-for", b"10.0.0.7"), (b"forwarded", b"for=10.0.0.7"))

    assert 401 == asked(_GRACE, groups("sre"), *forwarded, peer=peer)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        ((b"x-forwarded-user", b""),),
        ((b"x-forwarded-user", b"  "),),
        (_GRACE, (b"x-forwarded-user", b"ada")),
        (_GRACE, groups("staff"), groups("sre")),
        ((b"x-forwarded-user", b"\xff"),),
        ((b"x-forwarded-user", b"a\x1bda"),),
        ((b"x-forwarded-user", b"a" * 129),),
        ((b"x-forwarded-email", b"ada"),),
    ],
    ids=str,
)
def test_a_name_that_is_not_clear_is_nobodys(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    """Two of a header are the browser's and the proxy's, and nothing tells which is which."""
    assert 401 == asked(*headers, console_viewer_groups="")


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("grace", "staff", Person("grace", may_act=False)),
        ("grace", "guests, staff", Person("grace", may_act=False)),
        ("grace", "sre", Person("grace", may_act=True)),
        ("grace", "staff|on call", Person("grace", may_act=True)),
        ("ada", "", Person("ada", may_act=True)),
        ("zoë", "staff", Person("zoë", may_act=False)),
        ("grace", "", 403),
        ("grace", "Staff,sre2", 403),
        ("Ada", "guests", 403),
    ],
)
def test_groups_say_who_may_look_and_who_may_act(
    name: str, said: str, expected: Person | int
) -> None:
    """Names say it too; either is compared to the letter."""
    assert expected == asked((b"x-forwarded-user", name.encode()), groups(said))


def test_without_groups_of_viewers_whoever_has_signed_in_may_look() -> None:
    """And acts by name alone."""
    more = {"console_viewer_groups": "", "console_operator_groups": ""}

    assert Person("grace", may_act=False) == asked(_GRACE, **more)
    assert Person("grace", may_act=False) == asked(_GRACE, groups("sre"), **more)
