"""Why a text is not a condition: the CEL package's messages in words for authors of policies.

The package's messages name tokens and overloads. An author needs to know what is wrong, and
what to write instead.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?(.*)")
_CONTAINER = re.compile(r" \(in container ''\)")
_UNKNOWN = re.compile(r"undeclared reference to '(.*)'")
_MISFIT = re.compile(r"found no matching overload for '(.*)' applied to '\((.*)\)'")
_WORD = re.compile(r"[\w.]+|[=!<>&|]+|\S|$")
_MEANT = {
    "=": "write == to compare",
    "and": "write && for it",
    "or": "write || for it",
    "not": "write ! for it",
    "&": "write && for and",
    "|": "write || for or",
    "if": "write condition ? this : that",
}
"""Operators of other languages, and what to write in CEL."""
_ENDS = "it breaks off: write what is missing, or leave out what begins there"
_JOIN = "nothing like this can stand here: join conditions with && or ||, or leave it out"
_QUOTES = (
    "the text that begins here does not end on its line, or has a \\ that CEL does not know: "
    "end it with the same quote, and write \\\\ for \\"
)
_SELECTED = "has no fields: leave out the dot and what is behind it"
_NUMBER = "is no number of 64 bits: write a smaller one"
_RESERVED = "is a word that CEL keeps for itself: name a variable, or put a text in quotes"
_FIELD = "needs a variable's field, as in has(lane.labels.tier)"
_SYNTAX: Sequence[tuple[str, str]] = (
    (r"mismatched input '<EOF>'.*|no viable alternative at input '<EOF>'", _ENDS),
    (r"token recognition error at: '[bBrR]{0,2}['\"].*", _QUOTES),
    (r"token recognition error at: '(.*)'", "there is no sign '{0}': leave it out"),
    # The package's message ends at a NUL.
    (r"token recognition error at: '", "there is no sign '\\x00': leave it out"),
    (
        r"missing (.*) at '<EOF>'",
        "{0} is missing at the end: write it, or leave out its partner",
    ),
    (r"missing (.*) at (.*)", "{0} is missing before {1}: write it"),
    (r"(?:extraneous|mismatched) input .*|no viable alternative at input .*", _JOIN),
    (r"invalid (?:hex )?(?:u?int|double|float) literal", _NUMBER),
    (r"reserved identifier: .*", _RESERVED),
    (
        r"expression of type '(.*)' cannot be the operand of a select operation",
        f"{{0}} {_SELECTED}",
    ),
    (r"has\(\) argument must be a field selection", _FIELD),
    (r"unsupported syntax '(.*)'", "{0} is not known here: leave it out"),
)
"""Patterns of the package's messages, and the message that replaces each."""
_WANTS: Mapping[str, str] = {
    "!": "write it before something that is true or false",
    "-": "subtract numbers of one kind",
    "?:": "write condition ? this : that, with two values of one type",
    "&&": "write something that is true or false on both sides, as in hour > 8 && hour < 17",
    "||": "write something that is true or false on both sides, as in hour < 8 || hour > 17",
    "[]": "write a name of the map, or a place in the list, between the brackets",
    "in": "write a list or a map behind it, as in lane.queue in ['a', 'b']",
    **dict.fromkeys(
        ("==", "!=", "<", "<=", ">", ">="),
        "compare two numbers, or a text with one in quotes",
    ),
    **dict.fromkeys(("+", "*", "/", "%"), "reckon with numbers of one kind"),
}
"""What each operator is for."""


class InvalidCondition(Exception):
    """A text is not a valid condition: where, and why."""

    def __init__(self, message: str, *, column: int, text: str) -> None:
        super().__init__(message)
        self.column = column
        self.text = text


def translate_error(
    error: str, text: str, variables: Collection[str], functions: Collection[str]
) -> InvalidCondition:
    """Return the first error, with its place in the text.

    Args:
        error: The package's message.
        text: The condition.
        variables: Names of the variables.
        functions: Names of the enabled functions.
    """
    error = "".join(
        sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in error
    )
    if "recursion" in error:
        return InvalidCondition(
            "has over 32 operations in one another: leave some out", column=1, text=text
        )
    found = _ERROR.search(error)
    if found is None:
        return InvalidCondition(_unread(error.partition("\n")[0]), column=1, text=text)
    above = text.split("\n")[: int(found[1]) - 1]
    place = min(sum(len(line) + 1 for line in above) + int(found[2]) - 1, len(text))
    message = _CONTAINER.sub("", found[3])
    unknown = _UNKNOWN.fullmatch(message)
    if unknown is not None:  # its place is behind it, or at its last dot
        name = unknown[1]
        begin = text.rfind(name, 0, place + len(name))
        hint = _hint(name, variables, functions)
        return InvalidCondition(hint, column=max(begin, 0) + 1, text=name)
    match = _WORD.search(text, place)
    word = match[0] if match else ""
    return InvalidCondition(_MEANT.get(word) or _message(message), column=place + 1, text=word)


def _message(message: str) -> str:
    misfit = _MISFIT.fullmatch(message)
    if misfit is not None:
        return _misfit(misfit[1], misfit[2])
    for pattern, instead in _SYNTAX:
        found = re.fullmatch(pattern, message)
        if found is not None:
            return instead.format(*map(str.strip, found.groups()))
    return _unread(message)


def _unread(message: str) -> str:
    return f"it is no condition in CEL ({message}): see the reference of the policy"


def _misfit(function: str, types: str) -> str:
    """Return the message for a function or operator that does not take these types."""
    sign = function.removeprefix("@").replace("_", "")
    has = types.replace("null_type", "null")
    kinds = has.split(", ")
    if len(kinds) == 2 and sign not in ("in", "[]") and not sign.isalpha():
        if {*kinds} == {"int", "double"}:
            return f"{sign} does not fit {' and '.join(kinds)}: write 2.0 for 2, or double(x)"
        has = " and ".join(kinds)
    wants = _WANTS.get(sign, "give it what the reference of the policy says")
    return f"{sign} does not fit {has}: {wants}"


def _hint(name: str, variables: Collection[str], functions: Collection[str]) -> str:
    if name in functions:
        return "this function takes other arguments: see the reference of the policy"
    if name in variables:
        return "this is a variable and no function: leave out the parentheses"
    near = get_close_matches(name[:100], [*variables, *functions], n=1)
    unknown = "there is no such variable or function"
    if near:
        return f"{unknown}; did you mean {near[0]}?"
    return (
        f"{unknown}; there are {', '.join(variables)}, and the functions "
        f"{', '.join(functions)} and has: "
        "none that loops or matches regular expressions, so that a condition cannot take long"
    )
