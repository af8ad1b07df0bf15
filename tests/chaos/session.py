"""One session for what is asked many times a second.

For each new one the server starts a process.
"""

from dataclasses import dataclass

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow


@dataclass(slots=True)
class Session:
    """A session that is opened when it is first needed, and anew when the server was killed."""

    url: str
    _open: Connection[TupleRow] | None = None

    def read(self, query: str, *values: object) -> list[TupleRow]:
        """Return what a query finds, which may be repeated."""
        if self._open is not None:
            try:
                return self._open.execute(query.encode(), values).fetchall()
            except psycopg.OperationalError:
                if not self._open.closed:  # a statement's own failure, not the server's death
                    raise
        self._open = psycopg.connect(self.url, autocommit=True)
        return self._open.execute(query.encode(), values).fetchall()

    def close(self) -> None:
        """Close it, if it is open."""
        if self._open is not None:
            self._open.close()
