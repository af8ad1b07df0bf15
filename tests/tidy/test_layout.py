"""What the layout promises: few public names, ordered migrations, pure decisions."""

import re
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import fairlead
from tests.support import tree

PUBLIC_NAMES_MAX = 21
MIGRATIONS = Path("core/fairlead/db/migrations")
MIGRATION = re.compile(r"(?P<number>\d{4})_(?:expand|contract)_[a-z][a-z_]*\.sql")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def misnumbered(names: list[str]) -> tuple[str, ...]:
    """Return the migrations that are misnamed, or that leave a gap or a double before them."""
    return tuple(
        name
        for number, name in enumerate(sorted(names), start=1)
        if not (match := MIGRATION.fullmatch(name)) or int(match["number"]) != number
    )


def slug(heading: str) -> str:
    """Return the anchor that a heading gets on a code host's page."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def anchors(markdown: str) -> set[str]:
    """Return the anchors of a page."""
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", markdown, re.MULTILINE)}


def broken_links(page: Path, markdown: str) -> tuple[str, ...]:
    """Return the relative links of a page that lead nowhere."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", markdown, flags=re.MULTILINE | re.DOTALL)
    broken: list[str] = []
    for match in LINK.finditer(prose):
        path = tree.ROOT / page.parent / match[1] if match[1] else None
        if path is not None and not path.exists():
            broken.append(match[0][2:-1])
        elif match[2]:  # only then is the target a page, and no picture
            page_of = path.read_text("utf-8") if path is not None and path.is_file() else ""
            target = markdown if path is None else page_of
            if match[2] not in anchors(target):
                broken.append(match[0][2:-1])
    return tuple(broken)


def test_the_public_face_has_at_most_21_names() -> None:
    """`import fairlead` offers at most 21 names."""
    public = {
        name
        for name in dir(fairlead)
        if not name.startswith("_") and not isinstance(getattr(fairlead, name), ModuleType)
    }

    assert PUBLIC_NAMES_MAX >= len(public), sorted(public)
    assert public == set(getattr(fairlead, "__all__", ()))


def test_migrations_are_expand_or_contract_and_numbered_without_gaps() -> None:
    """Every migration is NNNN_expand_noun.sql or NNNN_contract_noun.sql, counted from 0001."""
    numbered = [path.name for path in tree.of_rooms(".sql") if path.parent == MIGRATIONS]

    assert () == misnumbered([name for name in numbered if name[0].isdigit()])


def test_decisions_are_numbered_once_and_listed() -> None:
    """Each record has a number of its own, begins with it, and is in the index."""
    records = sorted(path for path in tree.files(".md") if path.parent == Path("docs/adr"))
    numbered = [path for path in records if path.name != "README.md"]
    index = tree.text(Path("docs/adr/README.md"))

    assert [f"{place + 1:04}" for place in range(len(numbered))] == [
        path.name[:4] for path in numbered
    ]
    assert [] == [path for path in numbered if f"]({path.name})" not in index]
    assert [] == [
        path for path in numbered if not tree.text(path).startswith(f"# {path.name[:4]} ")
    ]


def test_every_unnumbered_migration_file_is_run_by_name() -> None:
    """What is beside the numbered migrations is named by the code that runs it."""
    tool = tree.text(Path("core/fairlead/db/migrate.py"))
    beside = [
        path.name
        for path in tree.of_rooms(".sql")
        if path.parent == MIGRATIONS and not path.name[0].isdigit()
    ]

    assert [] == [name for name in beside if f'"{name}"' not in tool]


def test_every_room_has_layers_and_every_module_one() -> None:
    """Each import package is the container of layers that `lint-imports` holds exhaustive."""
    tools = tomllib.loads(tree.text(Path("pyproject.toml")))["tool"]["importlinter"]
    exhaustive = {
        name
        for contract in tools["contracts"]
        if contract.get("exhaustive")
        for name in contract["containers"]
    }

    assert set(tools["root_packages"]) == set(tree.ROOMS.values())
    assert exhaustive == set(tree.ROOMS.values())


def test_every_folder_with_python_is_type_checked() -> None:
    """Mypy and pyright look at every folder of the tree."""
    tools = tomllib.loads(tree.text(Path("pyproject.toml")))["tool"]
    folders = {path.parts[0] for path in tree.files(".py")}

    assert folders == set(tools["mypy"]["files"])
    assert folders == set(tools["pyright"]["include"])


def test_what_the_image_copies_is_in_its_build_context() -> None:
    """A room that .dockerignore leaves out ends every build of the image."""
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", tree.text(Path("Dockerfile")), re.MULTILINE)
    passed = re.findall(r"^!(\S+)$", tree.text(Path(".dockerignore")), re.MULTILINE)
    sources = {source.split("/")[0] for line in copied for source in line.split()}

    assert "core" in sources
    assert set() == sources - set(passed)


def test_every_relative_link_leads_somewhere() -> None:
    """Every relative link of every page, and its anchor, exists."""
    broken = {page: broken_links(page, tree.text(page)) for page in tree.files(".md")}

    assert {} == {page: links for page, links in broken.items() if links}


@pytest.mark.parametrize(
    "names",
    [
        ["0002_expand_jobs.sql"],
        ["0001_expand_jobs.sql", "0003_expand_roles.sql"],
        ["0001_expand_jobs.sql", "0001_expand_roles.sql"],
        ["0001_add_jobs.sql"],
        ["1_expand_jobs.sql"],
    ],
)
def test_the_migration_rule_sees_gaps_doubles_and_other_names(names: list[str]) -> None:
    """Numbers run from 0001 without gaps or doubles, and the kind is one of two."""
    assert misnumbered(names)


def test_the_link_rule_sees_dead_files_and_dead_anchors() -> None:
    """A link to a missing file or heading is broken; code and web links are not looked at."""
    links = "[a](#here-it-is) [b](no.md) [c](#gone) [d](../LICENSE) [e](../README.md#fairlead)"
    ignored = "[f](https://example.org/x) `[g](no.md)`\n```\n[h](no.md)\n```\n"

    broken = broken_links(Path("charts/page.md"), f"# Here it is\n{links} {ignored}")

    assert ("no.md", "#gone") == broken
