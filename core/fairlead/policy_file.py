"""Read a policy from a file."""

import sys
from pathlib import Path

from fairlead.policy import DOCUMENT_BYTES_MAX, Policy, PolicyRefused, hash_of, parse

STANDARD_INPUT = Path("-")


class DocumentRefused(PolicyRefused):
    """A file was read, and what is in it is no policy.

    Args:
        name: The file's, with which the sentence begins.
        said: The rest of the sentence.
        content: What is in the file, or its first part where that is too long.
    """

    def __init__(self, name: str, said: str, content: bytes) -> None:
        super().__init__(f"{name}: {said}")
        self.said = said
        self.hash = hash_of(content)


def read(file: Path) -> tuple[str, Policy]:
    """Return the text of a file, or of standard input, and the policy that it is.

    Raises:
        DocumentRefused: what is in it is no policy; the sentence begins with its name.
        PolicyRefused: it cannot be read.
    """
    name = "standard input" if file == STANDARD_INPUT else str(file)
    try:
        content = _content(file)
    except OSError as error:
        raise PolicyRefused(f"{name}: cannot be read: {error.strerror or error}") from None
    try:
        document = _decoded(content)
        return document, parse(document)
    except PolicyRefused as error:
        raise DocumentRefused(name, str(error), content) from None


def _content(file: Path) -> bytes:
    """Return what is in a file, or a little more of it than a policy may have."""
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(DOCUMENT_BYTES_MAX + 1)
    with file.open("rb") as opened:
        return opened.read(DOCUMENT_BYTES_MAX + 1)


def _decoded(content: bytes) -> str:
    if len(content) > DOCUMENT_BYTES_MAX:
        bound = f"{DOCUMENT_BYTES_MAX:,}"
        raise PolicyRefused(f"the document has more than {bound} bytes: leave some out")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = error.start + 1
        raise PolicyRefused(f"byte {place} is not UTF-8: save it as UTF-8") from None
