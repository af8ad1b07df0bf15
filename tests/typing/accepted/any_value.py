"""What other libraries leave untyped."""

import json
from typing import Any

import psycopg

import fairlead


def order(connection: psycopg.Connection, text: str, form: dict[str, Any]) -> None:
    """Enqueue what has come over HTTP."""
    fairlead.enqueue(connection, "a", json.loads(text))
    fairlead.enqueue(connection, "a", form)
    fairlead.enqueue(connection, "a", {"form": form, "at": form.get("at")})
