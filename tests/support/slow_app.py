"""An application that takes as long to load as the test wants: until SLOW_APP_GATE is there.

It shows that it waits by another file, of the same name with `.awaited` behind it.
"""

import os
import threading
from pathlib import Path

import fairlead

_gate = Path(os.environ["SLOW_APP_GATE"])
_gate.with_suffix(".awaited").touch()
_rest = threading.Event()
while not _gate.exists():
    _rest.wait(0.01)

tasks = fairlead.Tasks()
