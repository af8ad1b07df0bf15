"""The formats and levels of logs, apart from the library that writes them.

Settings need them in commands that never log, and that library takes a while to load.
"""

from typing import Literal

LogFormat = Literal["auto", "json", "console"]
LogLevel = Literal["debug", "info", "warning", "error"]
