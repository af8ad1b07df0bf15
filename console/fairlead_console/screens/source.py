"""Where every screen reads: sessions, memos, the doctor, the pulse, simulations, one each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from fairlead.db.connect import Connection
from fairlead.inspection.rows import Row
from fairlead.settings import DatabaseSettings
from fairlead_console.reads import moments
from fairlead_console.reads.examiner import Examiner
from fairlead_console.reads.memo import Memo
from fairlead_console.reads.pulse import Pulse
from fairlead_console.reads.sessions import Sessions
from fairlead_console.reads.simulator import Simulator


@dataclass(frozen=True, slots=True)
class Source:
    """What the screens of one console share."""

    reads: Sessions
    asks: Sessions
    examiner: Examiner
    pulse: Pulse
    simulator: Simulator
    memo: Memo[object] = field(default_factory=Memo[object])

    @classmethod
    def of(cls, address: DatabaseSettings) -> "Source":
        """Make one; nothing is opened yet."""
        reads = Sessions(address)
        asks = Sessions(address, asks=True)
        examiner = Examiner(Sessions(address))
        return cls(reads, asks, examiner, Pulse(reads, asks), Simulator(address))

    def queues(self, session: Connection) -> Sequence[Row]:
        """Read every queue, or what another page has read a moment ago."""
        found = self.memo.get("every queue", lambda: moments.queues(session))
        return cast("Sequence[Row]", found)

    def close(self) -> None:
        """End the pulse and a simulation, and close the sessions."""
        self.pulse.stop()
        self.simulator.close()
        for each in (self.reads, self.asks, self.examiner):
            each.close()
