"""A source: the jobs of one kind of one tenant, which is what deaths are blamed on.

A kind is one function; a tenant is one author of payloads. Both together are narrow enough that
one tenant's bad payloads say nothing against the other tenants of the same handler.
"""

from typing import TypeAlias

Source: TypeAlias = tuple[str, str]
"""A kind and a tenant."""
