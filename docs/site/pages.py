"""What Sphinx has to be taught for pages that are written for a code host, too.

The navigation is added to pages as they are read, so that no page shows a table of contents as
code. Addresses have no `docs/` in them, and a folder's README is its index, where a link to the
folder leads. Two headings of a page with one anchor are a warning, which fails the build.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.util import logging

from docs.site.navigation import BELOW, GROUPS, HOME, ROOT, pages

_log = logging.getLogger(__name__)
_BEGIN, _END = "Search.setIndex(", ")"


class SiteBuilder(StandaloneHTMLBuilder):
    """Builds HTML pages at addresses that say nothing of the repository's folders."""

    name = "site"

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """Return a page's address."""
        return super().get_target_uri(address(docname), typ)

    def get_output_path(self, page_name: str, /) -> Path:
        """Return the file that a page is written to."""
        return super().get_output_path(address(page_name))

    def dump_search_index(self) -> None:
        """Have the search lead to addresses, which its script makes of the pages' names.

        An index that is kept for the next build would not do: `make docs` begins anew.
        """
        super().dump_search_index()
        path = Path(self.outdir) / self.searchindex_filename
        index = json.loads(path.read_text("utf-8").removeprefix(_BEGIN).removesuffix(_END))
        index["docnames"] = [address(name) for name in index["docnames"]]
        path.write_text(f"{_BEGIN}{json.dumps(index)}{_END}", "utf-8")


def address(docname: str) -> str:
    """Return where a page is, without a suffix."""
    if docname == "README":
        return "fairlead"
    folder, slash, name = docname.removeprefix("docs/").rpartition("/")
    return folder + slash + ("index" if name == "README" else name)


def setup(app: Sphinx) -> dict[str, object]:
    """Register all this with Sphinx."""
    app.add_builder(SiteBuilder)
    app.connect("source-read", _add_navigation)
    app.connect("doctree-read", _refuse_double_anchors)
    app.connect("doctree-read", _lead_folders_to_their_index)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_navigation(_app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == HOME:
        for caption, patterns in GROUPS.items():
            source[0] += _toctree(patterns, caption)
    elif docname in BELOW:
        source[0] += _toctree((BELOW[docname],))


def _toctree(patterns: tuple[str, ...], caption: str = "") -> str:
    """Return a hidden table of contents in MyST's words."""
    names = "\n".join(f"/{name}" for pattern in patterns for name in pages(pattern))
    captioned = f":caption: {caption}\n" if caption else ""
    return f"\n\n```{{toctree}}\n:hidden:\n{captioned}\n{names}\n```\n"


def _lead_folders_to_their_index(app: Sphinx, doctree: nodes.document) -> None:
    """Have a link to a folder lead to its README, and be mere text where it has none."""
    page = (ROOT / app.env.docname).parent
    for link in list(doctree.findall(pending_xref)):
        folder = (page / str(link["reftarget"])).resolve()
        if link["refdomain"] == "doc" or not folder.is_dir():
            continue
        if (folder / "README.md").is_file():
            index = str((folder / "README").relative_to(ROOT))
            link["refdomain"], link["reftarget"], link["reftargetid"] = "doc", index, None
        else:
            link.replace_self(link.children)


def _refuse_double_anchors(app: Sphinx, doctree: nodes.document) -> None:
    counted = Counter(_headings(doctree))
    for heading, count in counted.items():
        if count > 1:
            _log.warning(
                "%d headings have the anchor %r", count, heading, location=app.env.docname
            )


def _headings(doctree: nodes.document) -> Iterator[str]:
    """Yield each heading as its anchor is made of it."""
    for title in doctree.findall(nodes.title):
        yield "".join(
            each for each in title.astext().lower() if each.isalnum() or each in "-_ "
        ).replace(" ", "-")
