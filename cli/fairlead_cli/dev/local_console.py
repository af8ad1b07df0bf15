"""The console of `fairlead dev`: its port, whether the login may have one, by which it acts."""

from collections.abc import Mapping

from fairlead.settings import DatabaseSettings
from fairlead_cli.dev.ports import free_port, is_free
from fairlead_console.reads.sessions import Sessions, Unusable
from fairlead_console.settings import ConsoleSettings


def port_of(url: str, wanted: int | None) -> int:
    """Return the port that is wanted, or a free one: see `console_port`.

    Raises:
        Unusable: the login of this URL may not look as a viewer does; the sentence says so.
        Unreachable: the database has gone.
    """
    sessions = Sessions(DatabaseSettings(database_url=url, database_url_file=None))
    with sessions.one():
        pass
    sessions.close()
    if wanted is None:
        usual: int = ConsoleSettings.model_fields["console_port"].default
        return usual if is_free(usual) else free_port()
    return wanted or free_port()


def console_port(url: str, wanted: int | None) -> tuple[int | None, str]:
    """Return the port, None: there is no console, and the line that says so.

    Args:
        url: of the database.
        wanted: 0: a free one; None: the usual one, or a free one where that is taken.
    """
    try:
        port = port_of(url, wanted)
    except Unusable as error:
        return None, f"no console: {error}"
    return port, f"Console: http://127.0.0.1:{port}"


def operator_url(url: str, given: Mapping[str, str], *, is_own: bool) -> str:
    """Return by which login the console acts; empty: as the environment says.

    The project's server lets in whoever is on this machine, so a console that acts there gives
    nobody a right. A database of one's own may keep them out.

    Args:
        url: of the database.
        given: the environment, which is followed where it names an operator's URL.
        is_own: whether the database is the person's, and no server of ours.
    """
    names = ("FAIRLEAD_CONSOLE_OPERATOR_URL", "FAIRLEAD_CONSOLE_OPERATOR_URL_FILE")
    return "" if is_own or any(given.get(name) for name in names) else url
