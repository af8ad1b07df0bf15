"""How much one statement fires: less after one that took too long, more after quick ones."""

_QUICK_SECONDS = 0.6
"""A quarter of what a statement has with the default settings: twice as much has time, too."""


class BatchSize:
    """The largest number of fires of a statement, by how long the last ones took."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.fires = most

    def took(self, seconds: float) -> None:
        """Take how long a statement took that ended well.

        One that was slow may have been so whatever it fired: fewer would be slower still.
        """
        if seconds < _QUICK_SECONDS:
            self.fires = min(self._most, self.fires * 2)

    def cancelled(self, fires: int) -> None:
        """Take that so many fires reached the statement's time limit."""
        self.fires = max(1, min(self.fires, fires) // 2)
