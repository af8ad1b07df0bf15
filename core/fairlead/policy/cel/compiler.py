"""Read an expression: its grammar is CEL's, its time is bounded, and its types fit.

What CEL has and this has not: macros that loop, regular expressions, maps and messages to be
written, unsigned numbers, bytes, null, times. So an expression costs no more than its number of
parts, each of which is run once at most.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from fairlead.policy.cel import operators
from fairlead.policy.cel.operators import BOOL, DOUBLE, FUNCTIONS, INT, STRING, Part, Run
from fairlead.policy.cel.tokens import INT_MAX, Token, Unfit, tokens

BYTES_MAX = 1024
PARTS_MAX = 64
DEPTH_MAX = 16
_MACROS = ("all", "exists", "exists_one", "filter", "map")
_GLOBAL = ("size", "int", "double")
_METHODS = ("size", "startsWith", "endsWith", "contains")
_WORDS = frozenset(
    {
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "in"),
        *("let", "loop", "namespace", "null", "package", "return", "var", "void", "while"),
    }
)
"""What no variable may be called."""
Join = Callable[[Token, Part, Part], Part]


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that is ready to be run."""

    text: str
    type: str
    reads: frozenset[str]
    """The variables that it names."""
    run: Run
    """Returns its value, given those of all variables in their order; raises `Fault`."""


def compiled(text: str, variables: Mapping[str, str]) -> Expression:
    """Read an expression over these variables, which are given with their types.

    Raises:
        Unfit: it is none, it is too long, or its types do not fit.
    """
    size = len(text.encode())
    if size > BYTES_MAX:
        said = f"it has {size:,} bytes, more than {BYTES_MAX:,}: leave some out"
        raise Unfit(said, column=1, text=text)
    reader = _Reader(text, variables)
    whole = reader.whole()
    return Expression(text, whole.type, frozenset(reader.reads), whole.run)


class _Reader:
    """Reads from left to right, and makes parts of what it has read."""

    def __init__(self, text: str, variables: Mapping[str, str]) -> None:
        self.reads: set[str] = set()
        self._tokens = tokens(text)
        self._place = 0
        self._parts = 0
        self._depth = 0
        self._variables = variables
        self._places = {name: place for place, name in enumerate(variables)}

    def whole(self) -> Part:
        """Read everything."""
        found = self._expression()
        if self._next.kind != "end":
            raise self._next.unfit("is not expected here")
        return found

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _move(self) -> Token:
        token = self._tokens[self._place]
        self._place += 1
        return token

    def _take(self, *signs: str) -> Token | None:
        """Move on if one of these signs comes next."""
        token = self._next
        if token.kind in ("sign", "name") and token.text in signs:
            return self._move()
        return None

    def _need(self, sign: str, opened: Token) -> None:
        if self._take(sign) is None:
            raise opened.unfit(f"there is no {sign} to it")

    def _made(self, part: Part, at: Token) -> Part:
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise at.unfit(f"is more than the {PARTS_MAX} parts that an expression may have")
        return part

    def _expression(self) -> Part:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._next.unfit(f"is nested more than {DEPTH_MAX} deep")
        found = self._either()
        question = self._take("?")
        if question is not None:
            yes = self._either()
            self._need(":", question)
            chosen = operators.choice(question, found, yes, self._expression())
            found = self._made(chosen, question)
        self._depth -= 1
        return found

    def _either(self) -> Part:
        return self._chain(self._both, operators.either, "||")

    def _both(self) -> Part:
        return self._chain(self._relation, operators.both, "&&")

    def _relation(self) -> Part:
        signs = ("==", "!=", "<", "<=", ">", ">=", "in")
        return self._chain(self._sum, _related, *signs)

    def _sum(self) -> Part:
        return self._chain(self._product, operators.reckoned, "+", "-")

    def _product(self) -> Part:
        return self._chain(self._unary, operators.reckoned, "*", "/", "%")

    def _chain(self, each: Callable[[], Part], join: Join, *signs: str) -> Part:
        found = each()
        while (sign := self._take(*signs)) is not None:
            found = self._made(join(sign, found, each()), sign)
        return found

    def _unary(self) -> Part:
        signs: list[Token] = []
        while (sign := self._take("!", "-")) is not None:
            signs.append(sign)
        if signs and signs[-1].text == "-" and self._next.kind in (INT, DOUBLE):
            found = self._literal(self._move(), negative=signs.pop())
        else:
            found = self._primary()
        found = self._member(found)
        for sign in reversed(signs):
            make = operators.opposite if sign.text == "!" else operators.negative
            found = self._made(make(sign, found), sign)
        return found

    def _member(self, found: Part) -> Part:
        """Read what is selected of a part, and what is done with it."""
        while (sign := self._take(".", "[")) is not None:
            if sign.text == "[":
                key = self._expression()
                self._need("]", sign)
                found = self._made(operators.indexed(sign, found, key), sign)
                continue
            name = self._named()
            if self._take("(") is not None:
                self._offered(name, _METHODS)
                given = self._list(name, ")")
                found = self._made(operators.called(name, (found, *given)), name)
            else:
                found = self._made(operators.selected(name, found), name)
        return found

    def _named(self) -> Token:
        if self._next.kind != "name":
            raise self._next.unfit("a name is missing here")
        return self._move()

    def _primary(self) -> Part:
        token = self._move()
        match token.kind, token.text:
            case "sign", "(":
                found = self._expression()
                self._need(")", token)
                return found
            case "sign", "[":
                return self._made(operators.listed(token, self._list(token, "]")), token)
            case (("int" | "double" | "string"), _):
                return self._literal(token)
            case "name", ("true" | "false"):
                return self._made(operators.constant(BOOL, token.text == "true"), token)
            case "name", _ if token.text not in _WORDS:
                return self._name(token)
            case "end", _:
                raise token.unfit("it breaks off: a value is missing")
            case _:
                raise token.unfit("is not expected here: a value is missing")

    def _literal(self, token: Token, *, negative: Token | None = None) -> Part:
        value = token.value
        if not isinstance(value, str):
            value = -value if negative else value
            if isinstance(value, int) and not -INT_MAX - 1 <= value <= INT_MAX:
                raise token.unfit("is out of range: a whole number has 64 bits")
        kind = {"int": INT, "double": DOUBLE}.get(token.kind, STRING)
        return self._made(operators.constant(kind, value), token)

    def _list(self, opened: Token, end: str) -> list[Part]:
        """Read parts with commas between them."""
        found: list[Part] = []
        while self._take(end) is None:
            if found and self._take(",") is None:
                raise opened.unfit(f"there is no {end} to it")
            if not (found and self._next.text == end):
                found.append(self._expression())
        return found

    def _name(self, first: Token) -> Part:
        """Read a variable, whose name may have dots, or a call."""
        if self._take("(") is not None:
            return self._call(first)
        name = first.text
        while name not in self._places and self._next.text == ".":
            self._move()
            name = f"{name}.{self._named().text}"
            if not any(each == name or each.startswith(f"{name}.") for each in self._places):
                break
        if name not in self._places:
            raise Unfit(self._unknown(name), column=first.column, text=name)
        self.reads.add(name)
        return self._made(operators.variable(self._variables[name], self._places[name]), first)

    def _unknown(self, name: str) -> str:
        if any(each.startswith(f"{name}.") for each in self._places):
            near: Sequence[str] = [each for each in self._places if each.startswith(name)]
            return f"has no value of its own; there are {', '.join(near)}"
        near = get_close_matches(name[:100], self._places, n=1)
        if near:
            return f"there is no such variable; did you mean {near[0]}?"
        return f"there is no such variable; there are {', '.join(self._places)}"

    def _call(self, name: Token) -> Part:
        if name.text != "has":
            self._offered(name, _GLOBAL)
            given = self._list(name, ")")
            return self._made(operators.called(name, given), name)
        given = self._list(name, ")")
        if len(given) != 1 or given[0].present is None:
            raise name.unfit("takes one field of a map, such as has(lane.labels.tier)")
        return self._made(Part(BOOL, given[0].present), name)

    def _offered(self, name: Token, offered: Sequence[str]) -> None:
        """Refuse a function that there is not."""
        if name.text in offered:
            return
        if name.text in _MACROS:
            said = "expressions have no loops, so that they cannot take long"
        elif name.text == "matches":
            said = "there are no regular expressions, so that it cannot take long"
        else:
            said = "there is no such function"
        known = ", ".join(dict.fromkeys([*FUNCTIONS, "has"]))
        raise name.unfit(f"{said}; there are {known} and in")


def _related(at: Token, left: Part, right: Part) -> Part:
    join = operators.contained if at.text == "in" else operators.compared
    return join(at, left, right)
