"""What logs may be like: the choices, apart from the library that writes them.

Settings name them in commands that never write a log, and that library takes a while to load.
"""

from typing import Literal

LogFormat = Literal["auto", "json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]
