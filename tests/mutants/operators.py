"""Operators that make a mutant of any text: of a statement in SQL, or of a decision in Python.

Each takes one lock, condition, limit or comparison away or turns it round, in one place.
Whether an instant that is exactly now() counts is not asked: no two are the same.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

_HIDDEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'")
_AND = re.compile(r"\band\b")
_WHERE = re.compile(r"\bwhere\b")
_STEP = re.compile(
    r"[();,]|\bbetween\b|\bdistinct\s+from\b|\b(?:and|or|then|order|group|limit|for|returning|union"
    r"|offset|having|when|else|end|on|from|into|loop|left|cross|join|as|do|set|where)\b"
)
"""Where a condition may end, and what only looks like it."""
_BETWEEN = re.compile(r"\bbetween\s(?:(?!\band\b)[^()]|\([^()]*\))*$")
_CHECKS = re.compile(
    r"\bfairlead\._(?:leads|autoscaler_leads|acts_for|may_serve|owns|owns_all|sees|sees_all"
    r"|reads_all|administers|is_member|has_room)\s*\("
)
_LIMIT = re.compile(r"\s*\blimit\s+")
_ORDER = re.compile(r"\s*\border\s+by\s+")
_ORDERED = re.compile(r"[();]|\b(?:limit|for|offset|returning|rows|union)\b")

_WORDS = {
    "drop the lock": (
        re.compile(
            r"\s+for (?:no key update|key share|update|share)(?: of \w+)?"
            r"(?: skip locked| nowait)?\b"
        ),
        "",
    ),
    "wait for what is locked": (re.compile(r" skip locked\b"), ""),
    "< becomes <=": (re.compile(r"(?<= )<(?= )"), "<="),
    "<= becomes <": (re.compile(r"(?<= )<=(?= )"), "<"),
    "> becomes >=": (re.compile(r"(?<= )>(?= )"), ">="),
    ">= becomes >": (re.compile(r"(?<= )>=(?= )"), ">"),
    "<> becomes =": (re.compile(r"(?<= )<>(?= )"), "="),
    "or becomes and": (re.compile(r"\bor\b(?! replace)"), "and"),
    "exists becomes not exists": (re.compile(r"(?<!not )\bexists(?= ?\()"), "not exists"),
    "not exists becomes exists": (re.compile(r"\bnot exists(?= ?\()"), "exists"),
    "is null becomes is not null": (re.compile(r"\bis null\b"), "is not null"),
    "is not null becomes is null": (re.compile(r"\bis not null\b"), "is null"),
    "least becomes greatest": (re.compile(r"\bleast(?=\()"), "greatest"),
    "greatest becomes least": (re.compile(r"\bgreatest(?=\()"), "least"),
    "min becomes max": (re.compile(r"\bmin(?=\()"), "max"),
    "max becomes min": (re.compile(r"\bmax(?=\()"), "min"),
    "allow other isolations": (
        re.compile(r"perform fairlead\._require_read_committed\(\)"),
        "null",
    ),
}
_PYTHON = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "and": "or",
    "or": "and",
    "min": "max",
    "max": "min",
    "not": "bool",
    "True": "False",
    "False": "True",
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A text with one place changed.

    Args:
        operator: what was done.
        line: as it stood there, in which it was done.
        text: the whole text afterwards.
    """

    operator: str
    line: str
    text: str


def of_sql(text: str) -> Iterator[Mutation]:
    """Yield what operators make of a statement or of a function's definition."""
    seen = _HIDDEN.sub(lambda found: " " * len(found[0]), text)
    for operator, (pattern, instead) in _WORDS.items():
        for found in pattern.finditer(seen):
            if not (found[0][0] in "<>" and _is_of_instants(seen, found.start(), found.end())):
                yield _changed(text, operator, found.start(), found.end(), instead)
    for found in _AND.finditer(seen):
        if not _is_of_between(seen, found.start()):
            yield _changed(text, "and becomes or", found.start(), found.end(), "or")
            end = _condition_end(seen, found.end())
            yield _changed(text, "drop the condition", found.start(), end, "")
    for found in _WHERE.finditer(seen):
        end = _condition_end(seen, found.end())
        yield _changed(text, "drop the first condition", found.end(), end, " true ")
    for found in _CHECKS.finditer(seen):
        end = _closing(seen, found.end())
        yield _changed(text, "drop the check", found.start(), end, "true")
    for found in _LIMIT.finditer(seen):
        end = _value_end(seen, found.end())
        yield _changed(text, "drop the limit", found.start(), end, "")
    for found in _ORDER.finditer(seen):
        end = _ending(seen, found.end(), _ORDERED)
        yield _changed(text, "drop the order", found.start(), end, " ")


def of_python(text: str) -> Iterator[Mutation]:
    """Yield what operators make of a module."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    before = ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        instead = _PYTHON.get(token.string)
        is_call = token.string in {"min", "max"}
        if instead is not None and not (before == "is" and token.string == "not"):
            at = starts[token.start[0] - 1] + token.start[1]
            end = at + len(token.string)
            if text[end : end + 3] == " in":
                instead = None
            if instead is not None and (not is_call or text[end : end + 1] == "("):
                yield _changed(text, f"{token.string} becomes {instead}", at, end, instead)
        before = token.string


def _changed(text: str, operator: str, start: int, end: int, instead: str) -> Mutation:
    middle = start + len(text[start:end]) - len(text[start:end].lstrip())
    first = text.rfind("\n", 0, middle) + 1
    last = text.find("\n", middle)
    line = text[first : last if last >= 0 else len(text)]
    return Mutation(operator, " ".join(line.split()), text[:start] + instead + text[end:])


def _is_of_instants(seen: str, start: int, end: int) -> bool:
    return seen[:start].rstrip().endswith("now()") or seen[end:].lstrip().startswith("now()")


def _is_of_between(seen: str, at: int) -> bool:
    return _BETWEEN.search(seen[max(0, at - 90) : at]) is not None


def _condition_end(seen: str, start: int) -> int:
    """Return where a condition ends that begins here."""
    depth, of_between = 0, False
    for found in _STEP.finditer(seen, start):
        word = found[0]
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
            if depth < 0:
                return found.start()
        elif depth:
            continue
        elif word == "between":
            of_between = True
        elif word == "and" and of_between:
            of_between = False
        elif not word.startswith("distinct"):
            return found.start()
    return len(seen)


def _ending(seen: str, start: int, ends: re.Pattern[str]) -> int:
    depth = 0
    for found in ends.finditer(seen, start):
        if found[0] == "(":
            depth += 1
        elif found[0] == ")":
            depth -= 1
            if depth < 0:
                return found.start()
        elif not depth:
            return found.start()
    return len(seen)


def _closing(seen: str, start: int) -> int:
    """Return the place behind the parenthesis that closes what was opened before here."""
    return _ending(seen, start, re.compile(r"[()]")) + 1


def _value_end(seen: str, start: int) -> int:
    if seen[start] == "(":
        return _closing(seen, start + 1)
    found = re.compile(r"%\(\w+\)s(?:::\w+)?|[\w.]+").match(seen, start)
    return found.end() if found else start
