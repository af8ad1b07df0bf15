"""`fairlead demo`: a fleet that measures the Python source on this machine."""

from fairlead.demo.command import demo

__all__ = ["demo"]
