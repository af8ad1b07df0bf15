"""Fairlead: a fair work queue on PostgreSQL."""
