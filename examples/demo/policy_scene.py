"""The demo's scene with the policy: its file is edited while the fleet runs, as by a user.

It also says between which bounds the workers are scaled, and how long a job may wait.

The file is watched as `fairlead dev --policy FILE` watches it. Everything that is said of an
edit is read back from the database.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from examples.demo.edit_effect import EFFECT_SECONDS, Edit, Effect, Spell, effect, share
from examples.demo.watch import PolicyInForce
from fairlead.db.connect import Connection
from fairlead.db.statements import load
from fairlead_cli.dev.policy_file import PolicyFile

QUEUE = "sources"
SLOTS = 2
"""Of a worker."""
WORKERS_MIN = 1
WORKERS_MAX = min(4, max(2, os.cpu_count() or 2))
"""One for each core, of a few at most: what the jobs do keeps a core busy."""
_FACTOR = 10
_SHOWN_SECONDS = 2.0
_BEFORE_SECONDS = 4.0
_WATCHED_SECONDS_LOWEST = EFFECT_SECONDS + 4.0
_WATCHED_SECONDS_MAX = 18.0
_GIVE_OR_TAKE_ENOUGH = 0.025


class Scene:
    """The policy file, its one edit, and the way back.

    Args:
        file: where the policy goes.
        tenants: whose weight is edited; they have work until the edit is undone.
        url: the database.
        own: the application's connection.
        say: where the watcher's lines go.
    """

    def __init__(
        self,
        file: Path,
        tenants: Sequence[str],
        *,
        url: str,
        own: Connection,
        say: Callable[[str, str], None],
    ) -> None:
        self._file = file
        self._tenants = tuple(tenants)
        self._own = own
        self._began_at = datetime.now(UTC)
        self._edit: Edit | None = None
        self._version = 0
        self._write(version=1, weight=1)
        self._watcher = PolicyFile(file, url, say)

    def begin(self, began_at: datetime) -> None:
        """Store the first version; times are counted from here on."""
        self._began_at = began_at
        self._watcher.look()

    def look(self) -> PolicyInForce | None:
        """Let the file be looked at; say what is in force, and what the tenants get."""
        self._watcher.look()
        row = self._own.execute(
            load("examples.demo", "policy"), {"began": self._began_at}
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
        return PolicyInForce(version, digest, self._tenants, self._share_now())

    def raise_weight(self) -> str:
        """Save the file with the tenants' weight times ten; return what was done in words."""
        self._write(version=2, weight=_FACTOR)
        self._edit = Edit(self._tenants, _FACTOR, self._now())
        names = " and ".join(self._tenants)
        weigh = "weighs" if len(self._tenants) == 1 else "weigh"
        return f"policy.yaml: {names} {weigh} {_FACTOR}"

    def restore_weight(self) -> str:
        """Save the file as it was; return what was done in words."""
        assert self._edit is not None
        self._edit = self._edit._replace(undone_seconds=self._now())
        self._write(version=3, weight=1)
        return "policy.yaml: all weigh 1 again"

    def seen(self) -> bool:
        """Whether the edit was watched for long enough: until its effect is known closely.

        How long that takes is a matter of how long the jobs are; in the end it is enough.
        """
        assert self._edit is not None
        since = self._now() - self._edit.saved_seconds
        if since < _WATCHED_SECONDS_LOWEST:
            return False
        found = self.effect()
        give_or_take = None if found is None else found.give_or_take
        is_known = give_or_take is not None and give_or_take <= _GIVE_OR_TAKE_ENOUGH
        return is_known or since >= _WATCHED_SECONDS_MAX

    @property
    def weights(self) -> Mapping[str, float]:
        """What the file says now."""
        is_raised = self._edit is not None and self._edit.undone_seconds is None
        return dict.fromkeys(self._tenants, float(_FACTOR)) if is_raised else {}

    @property
    def edit(self) -> Edit | None:
        """The edit, as far as it has come."""
        return self._edit

    def effect(self) -> Effect | None:
        """Read what the edit led to; None: the run ended before there was one."""
        if self._edit is None:
            return None
        spells = self._spells(seconds=self._edit.saved_seconds - _BEFORE_SECONDS)
        return effect(spells, self._edit, self._now())

    def _share_now(self) -> float | None:
        now = self._now()
        spells = self._spells(seconds=now - _SHOWN_SECONDS)
        return share(spells, self._tenants, now - _SHOWN_SECONDS, now)

    def _now(self) -> float:
        """Return the seconds since the run began."""
        return (datetime.now(UTC) - self._began_at).total_seconds()

    def _spells(self, *, seconds: float) -> list[Spell]:
        """Read who had a slot of the queue, but for jobs that ended before so many seconds."""
        since = self._began_at + timedelta(seconds=seconds)
        values = {"began": self._began_at, "since": since}
        rows = self._own.execute(load("examples.demo", "slots"), values).fetchall()
        return [Spell(str(name), *(float(str(at)) for at in times)) for name, *times in rows]

    def _write(self, *, version: int, weight: int) -> None:
        self._file.write_text(document(self._tenants, version, weight))


def document(tenants: Sequence[str], version: int, weight: int) -> str:
    """Return the policy file's text."""
    overrides = "\n".join(
        f'        - {{match: {{tenant: "{tenant}"}}, weight: {weight}}}' for tenant in tenants
    )
    return f"""\
version: {version}
pools:
  - name: default
    queues: ["*"]
    autoscale:
      objective: 2s
      min: {WORKERS_MIN}
      max: {WORKERS_MAX}
      slots: {SLOTS}
      startPrior: 2s
      stabilization: 3s
queues:
  - match: {{queue: "{QUEUE}"}}
    tenants:
      overrides:
{overrides}
"""
