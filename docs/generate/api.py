"""Write the pages of the Python API from its docstrings and signatures.

Signatures are taken from the source, which has the names that its authors gave to types.
Where a function is overloaded, the docstring says what it returns.
"""

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import is_typeddict

import fairlead
from fairlead import django, testing

FOLDER = Path("docs/reference/api")
PATHS: Mapping[Path, ModuleType] = {
    FOLDER / "fairlead.md": fairlead,
    FOLDER / "testing.md": testing,
    FOLDER / "django.md": django,
}
# What is named by its path. It is read and not imported: these modules want Django's settings.
_BY_PATH: Mapping[str, tuple[str, ...]] = {
    "fairlead.django": ("worker.get_tasks", "backend.FairleadBackend"),
}

_HEADS = {
    "fairlead": """# Python: fairlead

What `import fairlead` offers to an application: enqueue jobs, write handlers, end attempts. All
other modules of Fairlead are internal; programs are started by [their commands](../cli.md), and
`fairlead_worker` has nothing to import. Tests use [`fairlead.testing`](testing.md), and Django
projects [`fairlead.django`](django.md).
[Write handlers](../../how-to/write-handlers.md) shows how the parts fit together.
`python -m docs.generate` writes this page from the docstrings.
""",
    "fairlead.testing": """# Python: fairlead.testing

What `from fairlead import testing` offers to an application's tests.
[Test your handlers](../../how-to/test-handlers.md) shows it at work. `python -m docs.generate`
writes this page from the docstrings.
""",
    "fairlead.django": """# Python: fairlead.django

What a Django project has of Fairlead beside [`fairlead`](fairlead.md): what can be imported
from `fairlead.django`, and what settings and the worker's module name by its path.
[Use Django](../../how-to/django.md) shows it at work, with the pages of the admin.
`python -m docs.generate` writes this page from the docstrings.
""",
}
_LINE = 88
_SECTION = re.compile(r"^(Args|Raises|Returns):$", re.MULTILINE)
_SECTION_NAMES = {"Args": "Arguments", "Raises": "Raises", "Returns": "Returns"}
_ENTRY = re.compile(r"^(\w[\w.]*): ?", re.MULTILINE)
_QUOTED = re.compile(
    r"(?<![`\[])`(?:fairlead\.)?(?:testing\.|django\.)?([A-Za-z_][\w.]*)`(?![`\]])"
)


def render(path: Path) -> str:
    """Return a page."""
    module = PATHS[path]
    kinds = {name: kind_of(getattr(module, name)) for name in public(module)}
    ordered = sorted(kinds, key=lambda name: (_ORDER.index(kinds[name]), name.lower()))
    sections = [_section(module, name, kinds[name]) for name in ordered]
    sections += [_section_of_source(module, name) for name in by_path(module)]
    return _linked("\n".join([_HEADS[module.__name__], *sections]), path)


def public(module: ModuleType) -> tuple[str, ...]:
    """Return the names that a module offers."""
    return tuple(module.__all__)


def by_path(module: ModuleType) -> tuple[str, ...]:
    """Return what a package offers in modules of its own: `worker.get_tasks`."""
    return _BY_PATH.get(module.__name__, ())


def docstring_by_path(module: ModuleType, name: str) -> str:
    """Return what such a name says of itself."""
    return ast.get_docstring(_by_path_node(module, name)) or ""


_ORDER = ("function", "class", "exception", "type", "value")


def kind_of(value: object) -> str:
    """Return what a public name stands for."""
    if inspect.isclass(value):
        return "exception" if issubclass(value, BaseException) else "class"
    if inspect.isroutine(value):
        return "function"
    return "value" if type(value).__module__.startswith("fairlead") else "type"


def docstring(module: ModuleType, name: str) -> str:
    """Return what a public name, or a member such as `Job.id`, says of itself, if anything."""
    owner, _, member = name.rpartition(".")
    if owner:
        return inspect.getdoc(inspect.getattr_static(getattr(module, owner), member)) or ""
    value = getattr(module, name)
    if kind_of(value) in {"type", "value"}:
        return _assigned(module, name)[1]
    own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    # What a dataclass says of itself is its signature.
    return "" if own is None or own.startswith(f"{name}(") else inspect.cleandoc(own)


def members(value: object) -> Iterator[str]:
    """Yield the public methods and properties of a class, also those of its parts."""
    if inspect.isclass(value) and not issubclass(value, BaseException):
        own = [each for each in value.__mro__ if each.__module__.startswith("fairlead")]
        for name, member in (each for part in own for each in vars(part).items()):
            called = inspect.isroutine(member) or isinstance(member, property)
            if called and not name.startswith("_"):
                yield name


def _section(module: ModuleType, name: str, kind: str) -> str:
    value = getattr(module, name)
    is_assigned = kind in {"type", "value"}
    code = _assigned(module, name)[0] if is_assigned else _signature(value, name)
    parts = [_entry(f"## {kind} `{name}`", code, docstring(module, name))]
    for member in members(value):
        found = inspect.getattr_static(value, member)
        is_property = isinstance(found, property)
        heading = f"### `{name}.{member}{'' if is_property else '()'}`"
        shown = _property(found, member) if is_property else _call(found, member)
        parts.append(_entry(heading, shown, docstring(module, f"{name}.{member}")))
    return "\n".join(parts)


def _section_of_source(module: ModuleType, name: str) -> str:
    node = _by_path_node(module, name)
    full = f"{module.__name__}.{name}"
    if isinstance(node, ast.ClassDef):
        return _entry(f"## class `{full}`", "", docstring_by_path(module, name))
    arguments = list(_parameters(node.args))
    code = _wrapped(node.name, arguments, _returned(node))
    return _entry(f"## function `{full}`", code, docstring_by_path(module, name))


@cache
def _by_path_node(module: ModuleType, name: str) -> ast.ClassDef | ast.FunctionDef:
    inside, _, wanted = name.partition(".")
    assert module.__file__ is not None
    source = Path(module.__file__).with_name(f"{inside}.py").read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == wanted:
            return node
    raise LookupError(f"{module.__name__}.{name} is not in its source")


def _entry(heading: str, code: str, said: str) -> str:
    shown = f"```python\n{code}\n```\n\n" if code else ""
    return f"{heading}\n\n{shown}{_markdown(said)}"


def _markdown(said: str) -> str:
    """Return a docstring with its sections as lists."""
    head, *rest = _SECTION.split(said)
    parts = [head.strip()]
    for name, body in zip(rest[::2], rest[1::2], strict=True):
        entries = textwrap.dedent(body.strip("\n"))
        if name == "Returns":
            parts.append(f"*{_SECTION_NAMES[name]}:* {' '.join(entries.split())}")
        else:
            lines = "\n".join(f"* {each}" for each in _entries(entries))
            parts.append(f"*{_SECTION_NAMES[name]}:*\n\n{lines}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _entries(text: str) -> Iterator[str]:
    """Yield each `name: what it is` on one line, its name as code."""
    _, *found = _ENTRY.split(text)
    for name, body in zip(found[::2], found[1::2], strict=True):
        yield f"`{name}`: {' '.join(body.split())}"


def _signature(value: object, name: str) -> str:
    """Return how a function is called, or a class that applications make objects of."""
    if not inspect.isclass(value):
        return _call(value, name)
    if "Args:" not in (value.__doc__ or ""):
        return _fields(value)
    return _fields(value) or _call(vars(value)["__init__"], name).removesuffix(" -> None")


def _fields(value: type) -> str:
    """Return a dataclass's fields, or a dict type's, as they are given; empty: it is none."""
    if not hasattr(value, "__dataclass_fields__") and not is_typeddict(value):
        return ""
    node = _node(value)
    assert isinstance(node, ast.ClassDef)
    given = [ast.unparse(each) for each in node.body if isinstance(each, ast.AnnAssign)]
    if not getattr(value, "__total__", True):
        given = [f"{each} = ..." for each in given]
    by_name = is_typeddict(value) or "kw_only=True" in "".join(
        map(ast.unparse, node.decorator_list)
    )
    return _wrapped(value.__name__, [*(["*"] if by_name else []), *given], "")


def _call(function: object, name: str) -> str:
    assert callable(function)
    node = _node(function)
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return _wrapped(name, list(_parameters(node.args)), _returned(node))


def _property(value: property, name: str) -> str:
    assert value.fget is not None
    node = _node(value.fget)
    assert isinstance(node, ast.FunctionDef)
    return f"{name}{_returned(node).replace(' -> ', ': ')}"


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    """Yield each parameter but `self`, and the signs between them."""
    given = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(given) - len(arguments.defaults)) + list(arguments.defaults)
    for argument, default in zip(given, defaults, strict=True):
        if argument.arg != "self":
            yield _parameter(argument, default)
    if arguments.vararg:
        yield f"*{_parameter(arguments.vararg, None)}"
    elif arguments.kwonlyargs:
        yield "*"
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(argument, default)
    if arguments.kwarg:
        yield f"**{_parameter(arguments.kwarg, None)}"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    said = ast.unparse(argument)
    if default is None:
        return said
    sign = " = " if argument.annotation else "="
    return f"{said}{sign}{ast.unparse(default)}"


def _returned(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the annotation, where it has no name that only the module knows."""
    said = "" if node.returns is None else ast.unparse(node.returns)
    overloaded = "Coroutine" in said or re.search(r"\b_", said)
    return f" -> {said}" if said and not overloaded else ""


def _wrapped(name: str, parameters: list[str], returned: str) -> str:
    line = f"{name}({', '.join(parameters)}){returned}"
    if len(line) <= _LINE:
        return line
    rows = "".join(f"    {each},\n" for each in parameters)
    return f"{name}(\n{rows}){returned}"


@cache
def _node(value: Callable[..., object] | type) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _assigned(module: ModuleType, name: str) -> tuple[str, str]:
    """Return a type's definition as it is written, or a value's type, and the text below it."""
    source = inspect.getsource(_home(module, name))
    body = ast.parse(source).body
    for node, below in pairwise(body):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == name:
            assert node.value is not None
            said = ast.literal_eval(below.value) if isinstance(below, ast.Expr) else ""
            kind = ast.unparse(node.annotation)
            code = f"{name} = {ast.get_source_segment(source, node.value)}"
            is_alias = kind == "TypeAlias"
            return code if is_alias else f"{name}: {kind}", inspect.cleandoc(said)
    return name, ""


def _home(module: ModuleType, name: str) -> ModuleType:
    """Return the module from which a package imports a name."""
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and name in {each.name for each in node.names}:
            return importlib.import_module(str(node.module))
    return module


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _linked(page: str, path: Path) -> str:
    """Link each quoted name of the API to where it is described."""
    anchors: dict[str, str] = {}
    for other in sorted(PATHS, key=lambda each: each == path):  # the page's own come last
        prefix = "" if other == path else other.name
        anchors.update({name: f"{prefix}{anchor}" for name, anchor in _anchors(other).items()})

    def link(match: re.Match[str]) -> str:
        target = anchors.get(match[1])
        return match[0] if target is None else f"[{match[0]}]({target})"

    lines = page.splitlines(keepends=True)
    fenced = False
    for number, line in enumerate(lines):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith("#"):
            lines[number] = _QUOTED.sub(link, line)
    return "".join(lines)


def _anchors(path: Path) -> dict[str, str]:
    """Return the anchor of each name that a page describes."""
    module = PATHS[path]
    found: dict[str, str] = {}
    for name in public(module):
        value = getattr(module, name)
        found[name] = f"#{kind_of(value)}-{name.lower()}"
        for member in members(value):
            found[f"{name}.{member}"] = f"#{name.lower()}{member}"
    return found
