"""Read a policy from a file."""

import sys
from pathlib import Path

from fairlead.policy import DOCUMENT_BYTES_MAX, Policy, PolicyRefused, parse

STANDARD_INPUT = Path("-")


def read(file: Path) -> tuple[str, Policy]:
    """Return the text of a file, or of standard input, and the policy that it is.

    Raises:
        PolicyRefused: it cannot be read or is no policy; the sentence begins with its name.
    """
    name = "standard input" if file == STANDARD_INPUT else file
    try:
        document = _content(file).decode("utf-8-sig")
        return document, parse(document)
    except OSError as error:
        raise PolicyRefused(f"{name}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        place = error.start + 1
        raise PolicyRefused(f"{name}: byte {place} is not UTF-8: save it as UTF-8") from None
    except PolicyRefused as error:
        raise PolicyRefused(f"{name}: {error}") from None


def _content(file: Path) -> bytes:
    """Return what is in a file, unless it is more than a policy may have."""
    if file == STANDARD_INPUT:
        content = sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
    else:
        with file.open("rb") as opened:
            content = opened.read(DOCUMENT_BYTES_MAX + 1)
    if len(content) > DOCUMENT_BYTES_MAX:
        bound = f"{DOCUMENT_BYTES_MAX:,}"
        raise PolicyRefused(f"the document has more than {bound} bytes: leave some out")
    return content
