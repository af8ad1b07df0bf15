"""The server of `fairlead dev`, started again when it dies, as the fleet's programs are."""

from time import monotonic

from fairlead_cli.dev.binaries import PostgresError
from fairlead_cli.dev.fleet import Say
from fairlead_cli.dev.postgres import Server

_NAME = "postgres"
_HEALTHY_SECONDS = 5.0
_REST_SECONDS = 1.0
_TRIES_MAX = 5


class SupervisedServer:
    """Keeps a server up that has been started.

    Args:
        server: whose data and port stay the same.
        say: called with the name `postgres` and a line for each death and each failed start.
    """

    def __init__(self, server: Server, say: Say) -> None:
        self._server = server
        self._say = say
        self._up_since: float | None = monotonic()
        self._next_try = 0.0
        self._tries = 0
        self._why = "it died at once each time"

    def revive(self) -> None:
        """Start the server again if it has died; to be called a few times a second.

        It recovers what was committed. A start may fail while a busy child of the dead server
        still holds the folder, so it is tried again a second later.

        Raises:
            PostgresError: five tries in a row ended in a failed start, or in a death within
                five seconds.
        """
        if self._server.is_running():
            return
        now = monotonic()
        if self._up_since is not None:
            self._say(_NAME, "ended; starting it again")
            self._tries = self._tries if now - self._up_since < _HEALTHY_SECONDS else 0
            self._up_since = None
        if now >= self._next_try:
            self._next_try = now + _REST_SECONDS
            self._try()

    def _try(self) -> None:
        if self._tries == _TRIES_MAX:
            raise PostgresError(f"PostgreSQL does not stay up: {self._why}")
        self._tries += 1
        try:
            self._server.start()
        except PostgresError as error:
            self._why = str(error)
            self._say(_NAME, self._why)
        else:
            self._up_since = monotonic()
            self._say(_NAME, "runs again")
