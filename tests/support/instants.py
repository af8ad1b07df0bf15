"""Instants as tests write them."""

from datetime import UTC, datetime


def utc(text: str) -> datetime:
    """Return an instant that is written in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
