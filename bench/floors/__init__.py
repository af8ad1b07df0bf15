"""Minimal scripts that measure what PostgreSQL and the machine allow, without any queue."""
