"""Instants, counted in microseconds since 1970, as text."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso_instant(at_us: int) -> str:
    """Return an instant in ISO 8601, in UTC."""
    return (_EPOCH + timedelta(microseconds=at_us)).isoformat()
