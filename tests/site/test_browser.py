"""The site in a browser without a network: no page complains, and the search finds words."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from tests.site.conftest import html
from tests.support.browsers import needs_a_browser, opened, said
from tests.support.waiting import until

pytestmark = [
    pytest.mark.xdist_group("site"),
    pytest.mark.any_server,
    pytest.mark.timeout(600),  # the site is built in it
    needs_a_browser,
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    """Yield a browser that reaches no server."""
    with opened() as found:
        yield found


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    """Yield where a server has the site."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        """Say nothing."""


def search(browser: Chrome, base: str, word: str, page: str) -> set[str]:
    """Search for a word until a page is among the results; return the pages that were found."""
    browser.get(f"{base}/search.html?q={word}")

    def found() -> set[str]:
        links = browser.find_elements(By.CSS_SELECTOR, "#search-results li a")
        targets = [str(link.get_attribute("href")).removeprefix(f"{base}/") for link in links]
        return {each.partition("?")[0].partition("#")[0] for each in targets}

    until(lambda: any(page in each for each in found()), what=f"{word} on {page}")
    return found()


def test_every_page_opens_without_a_word_on_the_console(browser: Chrome, site: Path) -> None:
    """Scripts and styles are there, and nothing is asked of a server."""
    found: dict[str, list[str]] = {}
    pages = html(site)
    for page in pages:
        browser.get(page.as_uri())
        heading = browser.find_elements(By.TAG_NAME, "h1")
        if complaints := said(browser) or ([] if heading else ["no heading"]):
            found[page.name] = complaints

    assert len(pages) > 150
    assert {} == found


@pytest.mark.parametrize(
    ("word", "page"), [("fencing", "glossary"), ("procrastinate", "migrate")]
)
def test_the_search_finds_a_word(
    browser: Chrome, site: Path, served: str, word: str, page: str
) -> None:
    """From files, and from a server, where it quotes what it has found."""
    for base in (site.as_uri(), served):
        said(browser)
        found = search(browser, base, word, page)
        assert [] == [each for each in found if not (site / each).is_file()]
    assert [] == said(browser)


def test_a_reader_can_have_it_dark_and_light(browser: Chrome, site: Path) -> None:
    """By the button at the top."""
    browser.get((site / "index.html").as_uri())
    seen: list[str | None] = []
    for mode in ("dark", "light"):
        browser.find_element(By.CSS_SELECTOR, ".theme-switch-button").click()
        browser.find_element(By.CSS_SELECTOR, f".theme-change-button[data-mode={mode}]").click()
        seen.append(browser.find_element(By.TAG_NAME, "html").get_attribute("data-theme"))

    assert ["dark", "light"] == seen
