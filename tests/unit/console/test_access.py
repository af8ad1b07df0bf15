"""Who may look: on loopback everybody there, elsewhere who knows a login."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from fairlead.settings import explain
from fairlead_console.settings import ConsoleSettings
from fairlead_console.web.access import BadLogins, host_of, logins


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "console.example"])  # noqa: S104 - that it is refused
def test_an_address_that_others_reach_wants_logins(host: str) -> None:
    """It does not start open, and says what to do."""
    with pytest.raises(ValidationError) as refused:
        ConsoleSettings(console_host=host)

    assert "FAIRLEAD_CONSOLE_LOGINS_FILE" in explain(refused.value)
    assert not ConsoleSettings(console_host=host, console_logins="ada:secret").is_open


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_loopback_is_open(host: str) -> None:
    """Until there are logins."""
    assert ConsoleSettings(console_host=host).is_open


def test_logins_are_in_one_place() -> None:
    """Two would be at odds some day."""
    with pytest.raises(ValidationError, match="not both"):
        ConsoleSettings(console_logins="ada:secret", console_logins_file=Path("/run/logins"))


_HEADER = {"console_user_header": "X-Forwarded-User"}
_PROXY = {**_HEADER, "console_trusted_proxies": "10.0.0.7/32, fd00::/64"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (_HEADER, "FAIRLEAD_CONSOLE_TRUSTED_PROXIES"),
        ({**_HEADER, "console_trusted_proxies": " , "}, "FAIRLEAD_CONSOLE_TRUSTED_PROXIES"),
        ({"console_trusted_proxies": "10.0.0.7"}, "FAIRLEAD_CONSOLE_USER_HEADER"),
        ({"console_groups_header": "X-Forwarded-Groups"}, "FAIRLEAD_CONSOLE_USER_HEADER"),
        ({**_PROXY, "console_viewer_groups": "sre"}, "FAIRLEAD_CONSOLE_GROUPS_HEADER"),
        ({**_PROXY, "console_logins": "ada:secret"}, "not both"),
        ({**_PROXY, "console_user_header": "X Forwarded"}, "'X Forwarded'"),
        ({**_PROXY, "console_groups_header": "X:G"}, "'X:G'"),
        ({**_PROXY, "console_trusted_proxies": "10.0.0.7/24"}, "10.0.0.7/24, and that is no"),
        ({**_PROXY, "console_trusted_proxies": "proxy"}, "proxy, and that is no network"),
        ({**_PROXY, "console_trusted_proxies": "10.0.0.7, 0.0.0.0/0"}, "everybody could say"),
        ({**_PROXY, "console_trusted_proxies": "::/0"}, "everybody could say"),
        (
            {
                **_PROXY,
                "console_groups_header": "X-Forwarded-Groups",
                "console_operator_groups": "sre",
            },
            "console_operator_groups names who may act, and there is no login",
        ),
    ],
)
def test_a_proxy_is_believed_only_where_it_is_named(given: dict[str, str], said: str) -> None:
    """And what makes no sense is refused at the start, with what to do."""
    with pytest.raises(ValidationError) as refused:
        ConsoleSettings.model_validate(given)

    assert said in explain(refused.value)


def test_behind_a_proxy_nobody_is_a_stranger() -> None:
    """So it may listen where others reach it."""
    settings = ConsoleSettings.model_validate({**_PROXY, "console_host": "192.0.2.7"})

    assert not settings.is_open
    assert ["10.0.0.7/32", "fd00::/64"] == [str(each) for each in settings.trusted_proxies]


def test_a_file_of_logins_is_read_anew(tmp_path: Path) -> None:
    """A password that is changed holds from the next request on."""
    file = tmp_path / "logins"
    settings = ConsoleSettings(console_logins_file=file)
    file.write_text("ada:secret\n\ngrace:with:colon\n")

    assert ("ada:secret", "grace:with:colon") == logins(settings)
    file.write_text("ada:changed")
    assert ("ada:changed",) == logins(settings)


@pytest.mark.parametrize("text", ["", "\n", "ada", "ada:", ":secret", "ada:secret\nbob"])
def test_a_file_without_usable_logins_lets_nobody_in(tmp_path: Path, text: str) -> None:
    """It is said, and without the line."""
    file = tmp_path / "logins"
    file.write_text(text)

    with pytest.raises(BadLogins, match="needs lines of name:password"):
        logins(ConsoleSettings(console_logins_file=file))
    file.unlink()
    with pytest.raises(BadLogins, match="cannot be read: No such file"):
        logins(ConsoleSettings(console_logins_file=file))


def test_a_password_is_not_said() -> None:
    """Not by the settings' own text."""
    assert "secret" not in repr(ConsoleSettings(console_logins="ada:secret"))


@pytest.mark.parametrize(
    ("header", "host"),
    [
        ("127.0.0.1:8420", "127.0.0.1"),
        ("LOCALHOST", "localhost"),
        ("[::1]:8420", "::1"),
        ("evil.example:8420", "evil.example"),
        ("", ""),
    ],
)
def test_the_host_is_read_without_its_port(header: str, host: str) -> None:
    """In every form that a browser sends."""
    assert host == host_of(header)
