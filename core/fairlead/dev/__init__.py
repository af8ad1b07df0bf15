"""One machine: the whole fleet as local processes over an embedded PostgreSQL."""
