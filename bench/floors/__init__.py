"""Minimal scripts that show what PostgreSQL and the machine allow, without any queue."""
