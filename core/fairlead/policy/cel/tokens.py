"""The words of a CEL expression."""

import re
from typing import NamedTuple

INT_MAX = (1 << 63) - 1
_TOKEN = re.compile(
    r"""
    (?P<space>[\t\n\f\r\ ]+|//[^\n]*)
    |(?P<double>(?:\d+\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+|\.\d+(?:[eE][-+]?\d+)?)(?!\w))
    |(?P<int>(?:0[xX][0-9a-fA-F]+|\d+)(?!\w))
    |(?P<raw>[rR](?:"[^"\n]*"|'[^'\n]*'))
    |(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]])
    """,
    re.VERBOSE | re.ASCII,
)
_SPOILT = re.compile(r"\w+|.", re.DOTALL | re.ASCII)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))"
)
_ESCAPED = dict(zip("abfnrtv\\?\"'`", "\a\b\f\n\r\t\v\\?\"'`", strict=True))


class Unfit(Exception):
    """A text is no expression that can be used: where, and why."""

    def __init__(self, said: str, *, column: int, text: str) -> None:
        super().__init__(said)
        self.column = column
        self.text = text


class Token(NamedTuple):
    """A word, with its place in the text; the last one is of the kind `end`."""

    kind: str
    text: str
    column: int
    value: int | float | str = ""
    """Of a literal."""

    def unfit(self, said: str) -> Unfit:
        """Return what is wrong with it."""
        return Unfit(said, column=self.column, text=self.text)


def tokens(text: str) -> list[Token]:
    """Return the words of a text.

    Raises:
        Unfit: there is something that is none.
    """
    found: list[Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _spoilt(text, place)
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_token(kind, match[0], place + 1))
        place = match.end()
    found.append(Token("end", "", len(text) + 1))
    return found


def _token(kind: str, text: str, column: int) -> Token:
    match kind:
        case "double":
            return Token(kind, text, column, float(text))
        case "int":
            return Token(kind, text, column, int(text, 16 if text[:2] in ("0x", "0X") else 10))
        case "raw":
            return Token("string", text, column, text[2:-1])
        case "string":
            return Token(kind, text, column, _unescaped(text, column))
        case _:
            return Token(kind, text, column)


def _unescaped(text: str, column: int) -> str:
    def sign(match: re.Match[str]) -> str:
        *codes, octal, plain = match.groups()
        digits = next((code for code in codes if code is not None), None)
        code = int(digits, 16) if digits else int(octal, 8) if octal else None
        if code is not None and code < 0x110000 and not 0xD800 <= code < 0xE000:
            return chr(code)
        if plain is not None and plain in _ESCAPED:
            return _ESCAPED[plain]
        raise Unfit(
            "there is no such character", column=column + match.start() + 1, text=match[0]
        )

    return _ESCAPE.sub(sign, text[1:-1])


def _spoilt(text: str, place: int) -> Unfit:
    match = _SPOILT.match(text, place)
    word = match[0] if match else text[place]
    if word in "\"'":
        return Unfit("the text has no end: close it", column=place + 1, text=text[place:])
    if word[0].isdigit():
        said = "is no number: write 5, 5.0 or 5e3, without a unit"
        return Unfit(said, column=place + 1, text=word)
    said = "means nothing here"
    if word in "{}":
        said = "maps cannot be written here"
    elif word in "=&|":
        said = f"means nothing here; did you mean {word * 2}?"
    return Unfit(said, column=place + 1, text=word)
