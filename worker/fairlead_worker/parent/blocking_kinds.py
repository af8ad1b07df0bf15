"""Which kinds of coroutines run in processes of their own, because they keep the event loop.

Pure: reports and the time go in; what is isolated comes out. A kind is isolated for
`ISOLATED_SECONDS` and then tried on the loop again, for one long stall may have been a first
import. If it is reported again before it has been back for as long as it was away, it goes for
twice as long: what blocks always is tried ever more rarely.
"""

from dataclasses import dataclass

ISOLATED_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Term:
    """Until when a kind is isolated, and for how long in all."""

    until: float
    seconds: float


class BlockingKinds:
    """The kinds of one worker; there are no more than the application has handlers."""

    def __init__(self) -> None:
        self._terms: dict[str, _Term] = {}

    def reported(self, kind: str, now: float) -> float | None:
        """Return for how many seconds a kind is isolated from now on; None: it is already."""
        last = self._terms.get(kind)
        if last is not None and now < last.until:
            return None
        again = last is not None and now < last.until + last.seconds
        seconds = last.seconds * 2 if last is not None and again else ISOLATED_SECONDS
        self._terms[kind] = _Term(now + seconds, seconds)
        return seconds

    def isolated(self, now: float) -> tuple[str, ...]:
        """Return the kinds that are isolated, by name."""
        return tuple(sorted(kind for kind, term in self._terms.items() if now < term.until))
