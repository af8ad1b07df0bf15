"""The demo's scene with the policy: its file is edited while the fleet runs, as by a user.

The file is watched as `fairlead dev --policy FILE` watches it. Everything that is said of an
edit is read back from the database.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fairlead.demo.effect import Edit, Effect, Spell, effect, share
from fairlead.demo.watch import Ruling
from fairlead.dev.policy import PolicyFile
from fairlead.sql import load
from fairlead.store import Connection

QUEUE = "sources"
_FACTOR = 10
_SHOWN_SECONDS = 2.0
_HELD_SECONDS = 6.0
_PATIENCE_SECONDS = 15.0


class Scene:
    """The policy file, its one edit, and the way back.

    Args:
        file: where the policy goes.
        tenant: whose weight is edited; whoever has the most work.
        url: the database.
        own: the application's connection.
        say: where the watcher's lines go.
    """

    def __init__(
        self,
        file: Path,
        tenant: str,
        *,
        url: str,
        own: Connection,
        say: Callable[[str, str], None],
    ) -> None:
        self._file = file
        self._tenant = tenant
        self._own = own
        self._began_at = datetime.now(UTC)
        self._edit: Edit | None = None
        self._version = 0
        self._restored = False
        self._write(version=1, weight=1)
        self._watcher = PolicyFile(file, url, say)

    def begin(self, began_at: datetime) -> None:
        """Store the first version; times are counted from here on."""
        self._began_at = began_at
        self._watcher.look()

    def look(self) -> Ruling | None:
        """Let the file be looked at; say what is in force, and what the tenant gets."""
        self._watcher.look()
        row = self._own.execute(
            load("fairlead.demo", "policy"), {"began": self._began_at}
        ).fetchone()
        if row is None:
            return None
        version, digest, in_force = int(str(row[0])), str(row[1]), float(str(row[2]))
        edit = self._edit
        if edit is not None and edit.version is None and version > self._version:
            self._edit = edit._replace(
                version=version, digest=digest, in_force_seconds=in_force
            )
        self._version = version
        return Ruling(version, digest, self._tenant, self._share_now())

    def raise_weight(self, seconds: float) -> str:
        """Save the file with the tenant's weight times ten; return what was done in words."""
        self._write(version=2, weight=_FACTOR)
        self._edit = Edit(self._tenant, _FACTOR, seconds)
        return f"policy.yaml saved: {self._tenant} weighs {_FACTOR}, not 1"

    def restore_weight(self) -> str:
        """Save the file as it was; return what was done in words."""
        self._write(version=3, weight=1)
        self._restored = True
        return f"policy.yaml saved: {self._tenant} weighs 1 again"

    def seen(self, seconds: float) -> bool:
        """Whether the edit was in force for long enough, or will not be in time."""
        assert self._edit is not None
        since = self._edit.in_force_seconds
        if since is not None and seconds >= since + _HELD_SECONDS:
            return True
        return seconds >= self._edit.saved_seconds + _PATIENCE_SECONDS

    @property
    def is_over(self) -> bool:
        """Whether the file says again what it said at first."""
        return self._restored

    @property
    def edit(self) -> Edit | None:
        """The edit, as far as it has come."""
        return self._edit

    def effect(self) -> Effect | None:
        """Read what the edit led to; None: the run ended before there was one."""
        return None if self._edit is None else effect(self._spells(), self._edit)

    def _share_now(self) -> float | None:
        now = (datetime.now(UTC) - self._began_at).total_seconds()
        spells = self._spells(seconds=now - _SHOWN_SECONDS)
        return share(spells, self._tenant, now - _SHOWN_SECONDS, now)

    def _spells(self, *, seconds: float = 0.0) -> list[Spell]:
        """Read who had a slot of the queue, of jobs that ended after so many seconds."""
        since = self._began_at + timedelta(seconds=seconds)
        values = {"began": self._began_at, "since": since}
        rows = self._own.execute(load("fairlead.demo", "slots"), values).fetchall()
        return [Spell(str(name), *(float(str(at)) for at in times)) for name, *times in rows]

    def _write(self, *, version: int, weight: int) -> None:
        self._file.write_text(document(self._tenant, version, weight))


def document(tenant: str, version: int, weight: int) -> str:
    """Return the policy file's text."""
    return f"""\
version: {version}
queues:
  - match: {{queue: "{QUEUE}"}}
    tenants:
      overrides:
        - {{match: {{tenant: "{tenant}"}}, weight: {weight}}}
"""
