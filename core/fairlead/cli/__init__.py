"""The command line, `fairlead`: thin commands over functions, views and services."""

from fairlead.cli.program import main

__all__ = ["main"]
