"""The command line of a program: an error is one sentence and exit code 2."""

import argparse
import sys
from typing import NoReturn


def refuse(sentence: str) -> NoReturn:
    """Write what is wrong to standard error and exit with 2."""
    sys.stderr.write(f"fairlead: {sentence}\n")
    raise SystemExit(2)


class Parser(argparse.ArgumentParser):
    """Reads a command line, and refuses a bad one without the usage."""

    def error(self, message: str) -> NoReturn:
        """Refuse in one sentence, which refers to `--help`."""
        refuse(f"{message}; see {self.prog} --help")
