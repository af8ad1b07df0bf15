"""The command line of a program: whatever is wrong with it is one sentence and exit code 2."""

import argparse
import sys
from typing import NoReturn


def refuse(sentence: str) -> NoReturn:
    """Say what is wrong and exit with 2."""
    sys.stderr.write(f"fairlead: {sentence}\n")
    raise SystemExit(2)


class Parser(argparse.ArgumentParser):
    """Reads a command line, and refuses a bad one without the usage."""

    def error(self, message: str) -> NoReturn:
        """Refuse in one sentence, which says where more is said."""
        refuse(f"{message}; see {self.prog} --help")
