"""The console's files: what others wrote is as it was published; no page needs a network."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

from tests.support import tree

WEB = Path("console/fairlead_console/web")
VENDOR = WEB / "static/vendor"
LICENCES = ("Zero-Clause BSD", "BSD Zero Clause License")
"""Of each of them; none asks for more than to be kept."""
_INLINE = re.compile(
    r"<style|<script(?![^>]* src=)|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE
)
_ELSEWHERE = re.compile(r"(?:https?:)?//[a-z]", re.IGNORECASE)
_CONTRAST_LEAST = 4.5
"""WCAG 2.2, level AA, for text."""
_ON = ("ground", "surface")
_TEXTS = ("text", "quiet", "accent", "warn", "bad", "good")
_SOFT = {"warn": "warn-soft", "bad": "bad-soft", "good": "good-soft", "text": "accent-soft"}


def templates() -> list[Path]:
    """Return the templates."""
    return [path for path in tree.files(".html") if path.is_relative_to(WEB)]


def vendored() -> list[dict[str, str]]:
    """Return what is said of each vendored file."""
    listed: list[dict[str, str]] = tomllib.loads(tree.text(VENDOR / "vendor.toml"))["files"]
    return listed


def palettes() -> list[dict[str, str]]:
    """Return the colours of each theme of the style sheet."""
    blocks = re.findall(r":root[^{]*\{([^}]*)\}", tree.text(WEB / "static/console.css"))
    return [dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]{6})", block)) for block in blocks]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""
    low, high = sorted(map(_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_what_others_wrote_is_as_they_published_it() -> None:
    """Each script has its checksum, and there is none without."""
    listed = {each["name"]: each["sha256"] for each in vendored()}
    there = {
        path.name: hashlib.sha256((tree.ROOT / path).read_bytes()).hexdigest()
        for path in tree.files(".js")
        if path.parent == VENDOR
    }

    assert there == listed
    assert all(each["npm"].startswith("sha512-") for each in vendored())


def test_what_others_wrote_has_its_licence_beside_it() -> None:
    """And it is one that lets everybody do everything."""
    for each in vendored():
        text = tree.text(VENDOR / each["licence"])

        assert any(name in text for name in LICENCES), each["name"]


def test_no_template_has_script_or_style_in_it() -> None:
    """The policy of each page refuses what is inline."""
    found = {path: _INLINE.findall(tree.text(path)) for path in templates()}

    assert len(found) >= 6
    assert {} == {path: faults for path, faults in found.items() if faults}


def test_no_page_asks_another_server() -> None:
    """No template, style or script of ours names one, and nothing switches escaping off."""
    ours = [*templates(), *(WEB / "static" / name for name in ("console.css", "console.js"))]
    said = {path: tree.text(path) for path in ours}

    assert [] == [path for path, text in said.items() if _ELSEWHERE.search(text)]
    assert [] == [path for path, text in said.items() if re.search(r"\|\s*safe\b", text)]


def test_text_can_be_read_in_both_themes() -> None:
    """Text has the contrast that WCAG asks of it, on each ground that it stands on."""
    light, dark, *again = palettes()
    pairs = [(text, ground) for text in _TEXTS for ground in _ON] + [*_SOFT.items()]
    weak = {
        (place, *pair): contrast(palette[pair[0]], palette[pair[1]])
        for place, palette in enumerate((light, dark))
        for pair in pairs
        if contrast(palette[pair[0]], palette[pair[1]]) < _CONTRAST_LEAST
    }

    assert {} == weak
    assert [dark] == again, "dark by choice differs from dark by system"


@pytest.mark.parametrize(
    "fault", ["<p style='x'>", "<script>1</script>", '<a onclick="x">', "<style>"]
)
def test_the_inline_rule_sees_each_kind(fault: str) -> None:
    """And lets a script of a file be."""
    assert _INLINE.search(fault)
    assert not _INLINE.search('<script src="/static/x.js" defer></script>')


def test_the_contrast_is_as_wcag_defines_it() -> None:
    """Black on white has 21, and a colour on itself 1."""
    assert round(contrast("#000000", "#ffffff"), 2) == 21.0
    assert contrast("#777777", "#777777") == 1.0
