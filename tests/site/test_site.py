"""The site has every page, every link of it leads somewhere, and it needs nothing else."""

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs.site.navigation import GROUPS, every_page
from docs.site.pages import address
from tests.site.conftest import html
from tests.support import tree

pytestmark = [
    pytest.mark.xdist_group("site"),
    pytest.mark.any_server,
    pytest.mark.timeout(600),  # the site is built in it
]

_LOADED = {"img": "src", "link": "href", "script": "src", "source": "src", "iframe": "src"}
_SAID_ELSEWHERE = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"](?:https?:)?//")


class Page(HTMLParser):
    """What a page has: its anchors, where its links lead, what it loads, its captions."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to."""
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.append(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get(_LOADED.get(tag, "")) and "canonical" not in given.get("rel", ""):
            self.loaded.append(given[_LOADED[tag]])


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Return every page by its path."""
    return {path: Page(path) for path in html(site)}


def broken(page: Page, pages: dict[Path, Page]) -> list[str]:
    """Return what a page links to or loads that is not in the site."""
    found: list[str] = []
    for link in {*page.links, *page.loaded}:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        target = pages.get(path)
        anchored = not parts.fragment or (target and unquote(parts.fragment) in target.anchors)
        if not path.is_file() or not anchored:
            found.append(link)
    return found


def test_every_page_of_the_tree_is_a_page_of_the_site(site: Path) -> None:
    """A page that is added is in the site, or somebody has to say why not."""
    markdown = {str(path.with_suffix("")) for path in tree.files(".md")}

    assert markdown == set(every_page())
    assert [] == [each for each in markdown if not (site / f"{address(each)}.html").is_file()]


def test_every_link_leads_somewhere_and_no_anchor_stands_twice(pages: dict[Path, Page]) -> None:
    """Also those that the theme makes."""
    wrong = {path.name: broken(page, pages) for path, page in pages.items()}
    twice = {
        path.name: [each for each, count in Counter(page.anchors).items() if count > 1]
        for path, page in pages.items()
    }

    assert {} == {name: links for name, links in wrong.items() if links}
    assert {} == {name: anchors for name, anchors in twice.items() if anchors}


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    """Neither by a page nor by a style sheet."""
    loaded = {each for page in pages.values() for each in page.loaded}
    sheets = [each for each in site.rglob("*.css") if _SAID_ELSEWHERE.search(each.read_text())]

    assert len(loaded) > 5
    assert ([], []) == ([each for each in loaded if urlsplit(each).netloc], sheets)


def test_every_page_has_the_navigation_in_its_groups(pages: dict[Path, Page]) -> None:
    """Whoever comes by a link finds everything else."""
    for path, page in pages.items():
        text = path.read_text("utf-8")
        missing = [each for each in GROUPS if f'caption-text">{each}<' not in text]
        assert [] == missing, page.path


def test_the_rule_sees_a_dead_link_and_a_dead_anchor(tmp_path: Path) -> None:
    """A page, an anchor of it, and a file that is loaded."""
    (tmp_path / "a.html").write_text(
        '<p id="x"><a href="#x">1</a><a href="#y">2</a><a href="b.html">3</a><img src="c.png">'
        '<a href="https://example.org/">4</a></p>'
    )
    page = Page(tmp_path / "a.html")

    assert ["#y", "b.html", "c.png"] == sorted(broken(page, {page.path: page}))
