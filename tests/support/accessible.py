"""What axe-core finds wrong with the page that a browser shows, and where keys alone lead."""

import hashlib
import tomllib
from operator import methodcaller
from typing import Final, cast

from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.support import tree

_FOLDER: Final = tree.ROOT / "tests/support/axe"
_SECONDS: Final = 120
_RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
_ASK = """
    const [rules, done] = arguments;
    const told = (each) => `${each.id}: ${each.nodes.map((node) => node.html).join(" ")}`;
    axe.run(document, {runOnly: rules}).then((found) => done(found.violations.map(told)));
"""
_REACHABLE = """
    const all = "a[href], button, input:not([type=hidden]), select, textarea, summary";
    const seen = (each) => each.checkVisibility() && !each.disabled;
    return [...document.querySelectorAll(all)].filter(seen).length;
"""
_FOCUSED = """
    const at = document.activeElement;
    const all = "a[href], button, input:not([type=hidden]), select, textarea, summary";
    window.reached = window.reached || new Set();
    const again = window.reached.has(at);
    if (at.matches(all)) window.reached.add(at);
    return [window.reached.size, again];
"""


def violations(browser: Chrome) -> list[str]:
    """Return what axe finds: which rule, and the elements."""
    browser.set_script_timeout(_SECONDS)
    methodcaller("execute_script", _axe())(browser)
    found = methodcaller("execute_async_script", _ASK, _RULES)(browser)
    return cast("list[str]", found)


def unreached(browser: Chrome) -> int:
    """Return how many of a page's links, buttons and fields Tab alone does not reach."""
    reachable = cast("int", methodcaller("execute_script", _REACHABLE)(browser))
    reached = 0
    for _ in range(2 * reachable + 20):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        reached, again = cast(
            "tuple[int, bool]", methodcaller("execute_script", _FOCUSED)(browser)
        )
        if again or reached == reachable:
            break
    return reachable - reached


def _axe() -> str:
    """Return the script, which is as it was published."""
    said = tomllib.loads((_FOLDER / "vendor.toml").read_text("utf-8"))
    script = (_FOLDER / str(said["name"])).read_bytes()
    assert hashlib.sha256(script).hexdigest() == said["sha256"]
    return script.decode()
